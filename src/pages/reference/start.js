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

const keyField = document.getElementById('key')

/** @returns the request that an open operation would send */
function toRequest({ path, method, specSelectors, fn }, { Im, oas3Selectors }) {
  const spec = specSelectors.specJsonWithResolvedSubtrees().toJS()
  const request = fn.buildRequest({
    spec,
    contextUrl: document.baseURI,
    operationId: spec.paths[path][method].operationId,
    parameters: specSelectors.parameterValues([path, method]).toJS(),
    requestBody: oas3Selectors.requestBodyValue(path, method),
  })
  if (keyField.value) request.headers.Authorization = `Bearer ${keyField.value}`
  else request.curlOptions = ['-H "Authorization: Bearer $KEY"'] // not quoted by Swagger UI, so the shell expands $KEY
  return Im.fromJS(request)
}

const isError = (_response, code) => code === 'default' || code >= 400

const OwnComponents = ({ React: { createElement } }) => ({
  components: {
    // Servers are a list and not a choice: the Content-Security-Policy allows requests to this server only.
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
    // The summary is a button, which must not contain a link (WCAG 4.1.2, swagger-ui issue 10704), so this is text.
    DeepLink: ({ text }) => createElement('span', null, text),
  },
  wrapComponents: {
    // Shows the curl command, even before the first response, then the successes, and then the errors, folded.
    responses: (Responses, system) => (props) => {
      const errors = props.responses.filter(isError)
      const folded = { ...props, responses: errors, tryItOutResponse: null }
      return createElement(
        'div',
        null,
        createElement(props.getComponent('curl'), { ...props, request: toRequest(props, system) }),
        createElement(Responses, { ...props, responses: props.responses.filterNot(isError) }),
        createElement(
          'details',
          null,
          createElement('summary', null, 'Errors: ', errors.keySeq().join(', ')),
          createElement(Responses, folded),
        ),
      )
    },
  },
})

// Names, by selector, of elements that Swagger UI leaves without a name (its issues 10698 and 10709).
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

/** Makes Swagger UI send the key, and draw the operations again. */
const authorize = () => ui.preauthorizeApiKey('apiKey', keyField.value)
keyField.addEventListener('stored', authorize)

const ui = SwaggerUIBundle({
  url: 'openapi.json',
  dom_id: '#reference',
  plugins: [OwnComponents],
  onComplete: authorize,
  deepLinking: true,
  defaultModelsExpandDepth: 0,
  displayRequestDuration: true,
  syntaxHighlight: { theme: 'tomorrow-night' }, // the default, agate, has contrasts below 4.5:1
  tryItOutEnabled: true,
  validatorUrl: null,
})
