import { Hono } from 'hono';
import { HTTPException } from 'hono/http-exception';

const ITEMS = [
  { id: 'tea', cents: 350 },
  { id: 'mug', cents: 900 },
];

/** The app sees the function's route in its paths: on route `/shop/*`, they begin with `/shop`. */
const app = new Hono().basePath('/shop');

app.use(async (c, next) => {
  await next();
  c.header('Cache-Control', 'max-age=60');
});

app.get('/items', (c) => c.json(ITEMS));

app.get('/items/:id', (c) => {
  const item = ITEMS.find(({ id }) => id === c.req.param('id'));
  if (item === undefined) throw new HTTPException(404, { message: `There is no item ${c.req.param('id')}.` });
  return c.json(item);
});

app.notFound((c) => c.json({ error: `${c.req.path} is not a page of this shop.` }, 404));

app.onError((error, c) => {
  if (error instanceof HTTPException) return c.json({ error: error.message }, error.status);
  console.error(error);
  return c.json({ error: 'Something went wrong.' }, 500);
});

export default app;
