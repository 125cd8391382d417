// The OpenAPI document as the page shows it: the introduction says once what every operation repeats. Only the page is
// shorter; /openapi.json keeps every header and error of every response, for generators and validators.

/** @returns a copy of the document, without the API key: the header of the page has a field for it */
globalThis.condense = function condense({ security: _security, ...document }) {
  const operations = Object.values(document.paths).flatMap(Object.values)
  const shared = {
    headers: namesInAll(operations.map(({ responses }) => headersOf(successOf(responses)))),
    errors: namesInAll(operations.map(({ responses }) => responses)).filter((status) =>
      isSameError(operations.map(({ responses }) => responses[status])),
    ),
  }
  const { securitySchemes, ...components } = document.components
  const [{ description: authentication }] = Object.values(securitySchemes)
  const headerRows = shared.headers.map((name) => {
    const without = shared.errors.filter((status) =>
      operations.some(({ responses }) => !(name in headersOf(responses[status]))),
    )
    const exceptions = without.length ? ` Not always with ${without.map(code).join(', ')}.` : ''
    return [name, components.headers[name].description + exceptions]
  })
  const errorRows = shared.errors.map((status) => [status, describe(operations[0].responses[status], shared)])
  const description = [
    document.info.description,
    `**Authentication**: ${authentication}`,
    details('Headers of every response', table(['Header', 'Description'], headerRows)),
    details('Errors of every operation', table(['Status', 'Description'], errorRows)),
  ].join('\n\n')
  const paths = mapValues(document.paths, (path) => mapValues(path, (operation) => shorten(operation, shared)))
  return { ...document, info: { ...document.info, description }, paths, components }
}

/** Without what the introduction says. The success response keeps the table of its other headers. */
function shorten(operation, shared) {
  const success = successOf(operation.responses)
  const headers = Object.fromEntries(otherHeaders(success, shared).map((name) => [name, success.headers[name]]))
  const others = `The errors of every operation, see above: ${shared.errors.map(code).join(', ')}.`
  const responses = Object.entries(operation.responses)
    .filter(([status]) => !shared.errors.includes(status))
    .map(([status, response]) => [
      status,
      response === success ? { ...response, headers } : { description: describe(response, shared) },
    ])
  return { ...operation, responses: { ...Object.fromEntries(responses), default: { description: others } } }
}

/** One line. All errors have the same body, in which only code and message differ. */
function describe(response, shared) {
  const headers = otherHeaders(response, shared).map(code).join(', ')
  const error = errorCode(response)
  return `${error ? `${code(error)} ` : ''}${response.description}${headers ? ` Headers: ${headers}.` : ''}`
}

/** @returns the code of an error response; undefined for other responses */
function errorCode({ content }) {
  return content?.['application/json'].examples.error?.value.code
}

function isSameError([first, ...others]) {
  return errorCode(first) !== undefined && others.every(({ description }) => description === first.description)
}

function otherHeaders(response, shared) {
  return Object.keys(headersOf(response)).filter((name) => !shared.headers.includes(name))
}

function successOf(responses) {
  return Object.entries(responses).find(([status]) => status.startsWith('2'))[1]
}

function headersOf({ headers = {} }) {
  return headers
}

/** @returns the names of the members that all of the objects have */
function namesInAll([first, ...others]) {
  return Object.keys(first).filter((name) => others.every((object) => name in object))
}

function mapValues(object, change) {
  return Object.fromEntries(Object.entries(object).map(([name, value]) => [name, change(value)]))
}

function code(text) {
  return `\`${text}\``
}

/** HTML in Markdown. */
function details(summary, text) {
  return `<details><summary>${summary}</summary>\n\n${text}\n\n</details>`
}

/** A table in Markdown; the first column is code. */
function table(head, rows) {
  const lines = [head, ['-', '-'], ...rows.map(([name, text]) => [code(name), text])]
  return lines.map((cells) => `| ${cells.join(' | ')} |`).join('\n')
}
