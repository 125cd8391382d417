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

const ShorterDocument = {
  statePlugins: {
    spec: {
      wrapActions: { updateJsonSpec: (update) => (document) => update(document.paths ? condense(document) : document) },
    },
  },
}

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
  },
})

function authorize(request) {
  const key = document.getElementById('key').value.trim()
  if (key && !request.loadSpec) request.headers.Authorization = `Bearer ${key}`
  return request
}

SwaggerUIBundle({
  url: 'openapi.json',
  dom_id: '#reference',
  plugins: [ShorterDocument, OwnComponents],
  requestInterceptor: authorize,
  deepLinking: true,
  displayRequestDuration: true,
  tryItOutEnabled: true,
  validatorUrl: null,
})
