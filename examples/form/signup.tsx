/** @jsxImportSource hono/jsx */
import type { FC, PropsWithChildren } from 'hono/jsx';
import type { Handler } from '../wherry.d.ts';

const EMAIL = /^[^\s@]+@[^\s@]+$/;

const handler: Handler = async (c) => {
  if (c.req.method === 'GET') return c.html(<Form />);
  const { name, email } = await c.req.parseBody();
  if (typeof name !== 'string' || name.trim() === '') return c.html(<Form problem="Please enter your name." />, 400);
  if (typeof email !== 'string' || !EMAIL.test(email))
    return c.html(<Form problem="Please enter an email address." />, 400);
  return c.html(
    <Page>
      Thank you, {name}. We write to {email}.
    </Page>,
  );
};

/** Text in braces is escaped: nobody can send HTML through the form. */
const Page: FC<PropsWithChildren> = ({ children }) => (
  <html lang="en">
    <title>Newsletter</title>
    <p>{children}</p>
  </html>
);

const Form: FC<{ problem?: string }> = ({ problem }) => (
  <Page>
    {problem === undefined ? 'Subscribe to our newsletter.' : <strong>{problem}</strong>}
    <form method="post">
      <input name="name" placeholder="Name" />
      <input name="email" type="email" placeholder="Email" />
      <button type="submit">Subscribe</button>
    </form>
  </Page>
);

export default handler;
