import { chromium, type Browser, type Page } from 'playwright-core';
import { ApiClient } from '../testing/api-client.ts';
import { startService, type Service } from '../testing/embedded-service.ts';

const KEY = 'the-key-of-this-test';

describe('the page of the API in a real browser', () => {
  let service: Service;
  let browser: Browser;
  let page: Page;
  const origins = new Set<string>();
  const problems: string[] = [];

  beforeAll(async () => {
    service = await startService({ environment: { WHERRY_MANAGEMENT_KEY: KEY } });
    // The limits are those of the hook and of the tests.
    browser = await chromium.launch({
      executablePath: '/usr/bin/chromium',
      args: ['--no-sandbox', '--disable-gpu'],
      timeout: 0,
    });
    page = await browser.newPage();
    page.setDefaultTimeout(0);
    page.on('request', (request) => origins.add(new URL(request.url()).origin));
    // The console has violations of the policy, and every request that fails.
    page.on('console', (message) => void (message.type() === 'error' && problems.push(message.text())));
    page.on('pageerror', (error) => void problems.push(String(error)));
  }, 60_000);
  afterAll(async () => {
    await browser?.close();
    await service?.dispose();
  }, 60_000);

  it('M6: shows the operations to whoever enters a key, and calls them', async () => {
    const opened = await page.goto(`${service.managementUrl}/api/docs`);
    expect([opened?.status(), await opened?.headerValue('content-type')]).toEqual([401, 'text/html; charset=utf-8']);
    await page.fill('#key', 'not-the-key-of-this-test');
    await page.click('#credentials button');
    await page.waitForSelector('#problem:not(:empty)');
    expect(await page.textContent('#problem')).toContain('A valid management key or session is required');

    await page.fill('#key', KEY);
    await page.click('#credentials button');
    await page.waitForSelector('.opblock');
    const shown = await page.locator('.opblock-summary-path').allTextContents();
    expect(shown.length).toBeGreaterThan(50);
    expect(shown.map((path) => path.replaceAll('\u200b', ''))).toContain('/api/functions/{id}');

    const operation = page.locator('#operations-Functions-listFunctions');
    await operation.locator('.opblock-summary-control').click();
    await operation.locator('.try-out__btn').click();
    await operation.locator('.execute').click();
    await operation.locator('.live-responses-table').waitFor();
    expect(await operation.locator('.live-responses-table').textContent()).toMatch(/200.*"functions": \[\]/s);
    const kept = await page.evaluate('JSON.stringify([document.cookie, { ...localStorage }, { ...sessionStorage }])');
    expect(kept).toBe('["",{},{}]');
  }, 60_000);

  it('M6: needs no key where the browser has a session', async () => {
    const user = { email: 'reader@example.com', password: 'correct horse battery' };
    const api = new ApiClient(service.managementUrl, KEY);
    await api.expect('POST', '/api/users', { ...user, passwordConfirmation: user.password });
    const signedIn = await page.context().request.post(`${service.managementUrl}/api/auth/sign-in/email`, {
      data: user,
      headers: { 'Sec-Fetch-Site': 'same-origin' },
    });
    expect(signedIn.status()).toBe(200);
    expect((await page.goto(`${service.managementUrl}/api/docs`))?.status()).toBe(200);
    await page.waitForSelector('.opblock');
    expect(await page.locator('#credentials').count()).toBe(0);
  }, 60_000);

  it('M6: has sent requests to its own origin alone, and violated no policy', () => {
    expect([...origins]).toEqual([service.managementUrl]);
    // The page without credentials, the document without them, and the document with the bad key.
    expect(problems.filter((text) => text.includes('status of 401'))).toHaveLength(3);
    expect(problems).toHaveLength(3);
  });
});
