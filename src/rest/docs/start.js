// Integers beyond 2^53 keep their digits where the browser supports JSON.rawJSON: Swagger UI parses and prints responses.
if (JSON.rawJSON) {
  const parse = JSON.parse
  const exact = (_key, value, { source }) =>
    typeof value === 'number' && !Number.isSafeInteger(value) && /^-?\d+$/.test(source) ? BigInt(source) : value
  JSON.parse = (text, reviver = exact) => parse(text, reviver)
  // JSON.stringify has no other hook for BigInt, and Swagger UI calls it.
  // oxlint-disable-next-line no-extend-native
  BigInt.prototype.toJSON = function () {
    return JSON.rawJSON(String(this))
  }
}

// Swagger UI's style sheet has a dark mode for this class.
const dark = matchMedia('(prefers-color-scheme: dark)')
const applyColorScheme = () => document.documentElement.classList.toggle('dark-mode', dark.matches)
dark.addEventListener('change', applyColorScheme)
applyColorScheme()

const OwnComponents = ({ React: { createElement } }) => ({
  components: {
    // A list instead of a choice: the Content-Security-Policy allows requests to this server only.
    Servers: ({ servers }) =>
      servers
        .toJS()
        .map(({ url, description }) =>
          createElement(
            'div',
            { className: 'servers', key: url },
            createElement('code', null, url),
            ' – ',
            description,
          ),
        ),
    // The header of the page has a field for the key.
    authorizeBtn: () => null,
    authorizeOperationBtn: () => null,
    // Text instead of a link: it is in a button, which must not contain controls (WCAG 4.1.2, swagger-ui issue 10704).
    DeepLink: ({ text }) => createElement('span', null, text),
  },
})

// What Swagger UI leaves without a name (its issues 10698 and 10709), by selector.
const NAMES = {
  '.examples-select-element': 'Example',
  '.body-param__text': 'Request body',
  '.highlight-code > .microlight': 'Code',
  '[data-param-name] :is(input, select)': (control) => control.closest('[data-param-name]').dataset.paramName,
}

function nameElements() {
  for (const [selector, name] of Object.entries(NAMES)) {
    for (const element of document.querySelectorAll(`${selector}:not([aria-label])`)) {
      element.setAttribute('aria-label', typeof name === 'string' ? name : name(element))
      if (element.tagName !== 'PRE') continue
      element.setAttribute('role', 'group')
      element.tabIndex = 0 // it scrolls, and must do so with the keyboard, too (WCAG 2.1.1)
    }
  }
}
new MutationObserver(nameElements).observe(document.getElementById('reference'), { childList: true, subtree: true })

function authorize(request) {
  const key = document.getElementById('key').value.trim()
  if (key && !request.loadSpec) request.headers.Authorization = `Bearer ${key}`
  return request
}

SwaggerUIBundle({
  url: 'openapi.json',
  dom_id: '#reference',
  plugins: [OwnComponents],
  requestInterceptor: authorize,
  deepLinking: true,
  defaultModelsExpandDepth: 0,
  displayRequestDuration: true,
  syntaxHighlight: { theme: 'tomorrow-night' }, // the default, agate, has contrasts below 4.5:1
  tryItOutEnabled: true,
  validatorUrl: null,
})
