/* global document, fetch, SwaggerUIBundle */
/**
 * In the browser: fetches the OpenAPI document with the session cookie, or else with a key that the reader enters, and
 * shows it. The key is in memory only.
 */

const form = document.querySelector('#credentials');
const input = document.querySelector('#key');
const problem = document.querySelector('#problem');

/** @param key undefined: the browser sends its session cookie. */
async function open(key) {
  const headers = key === undefined ? {} : { 'X-API-Key': key };
  const answer = await fetch('/api/openapi.json', { headers, cache: 'no-store' });
  const body = await answer.json();
  if (answer.ok) show(body, key);
  else {
    form.hidden = false;
    input.focus();
    // Whoever has not entered a key yet has made no mistake.
    if (key !== undefined || answer.status !== 401) problem.textContent = body.error;
  }
}

function show(spec, key) {
  form.remove();
  problem.textContent = '';
  const ui = SwaggerUIBundle({
    spec,
    dom_id: '#docs',
    deepLinking: true,
    docExpansion: 'list',
    filter: true,
    displayRequestDuration: true,
    persistAuthorization: false,
    // By default it sends the document to validator.swagger.io.
    validatorUrl: null,
    onComplete() {
      if (key !== undefined) ui.preauthorizeApiKey('apiKey', key);
    },
  });
}

function attempt(key) {
  open(key).catch(() => {
    form.hidden = false;
    problem.textContent = 'The service cannot be reached: try again in a moment.';
  });
}

form.addEventListener('submit', (event) => {
  event.preventDefault();
  const key = input.value;
  input.value = '';
  attempt(key);
});

attempt(undefined);
