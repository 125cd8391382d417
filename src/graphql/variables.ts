import type { ArgumentNode, DocumentNode, GraphQLInputObjectType, GraphQLInputType, ObjectFieldNode } from 'graphql'
import type { OperationDefinitionNode, VariableDefinitionNode } from 'graphql'
import { coerceInputValue, getNullableType, GraphQLError, isInputObjectType, isInputType } from 'graphql'
import { separateOperations, typeFromAST, visit } from 'graphql'
import { ApiError, describeFields, type FieldError } from '../errors.ts'
import { cleanMessage } from './errors.ts'
import { isMap } from './params.ts'
import { schema } from './schema/index.ts'

type Variables = Record<string, unknown>

/** Maximum number of wrong fields in an error: an input may have any number of unknown members. */
const MAX_FIELDS = 20

/**
 * The error of variables that cannot be coerced. It names every wrong field: by the contract where the type has one, so
 * that a form gets the messages of the REST API and all of them at once, else by graphql-js.
 */
export function invalidVariables(
  document: DocumentNode,
  operation: OperationDefinitionNode,
  variables: Variables,
): GraphQLError {
  const wrong = (operation.variableDefinitions ?? [])
    .flatMap((definition) => variableErrors(definition, variables).map((error) => ({ ...error, definition })))
    .slice(0, MAX_FIELDS)
  const paths = argumentPaths(document, operation)
  const fields = wrong.map(({ definition: { variable }, path, message }) => {
    const argument = paths.get(variable.name.value) ?? [variable.name.value]
    return { path: [...argument, ...path], message }
  })
  // A member is named as in the REST API, so without the argument.
  const message = describeFields(wrong.map((error, i) => (error.path.length ? error : (fields[i] ?? error))))
  const nodes = [...new Set(wrong.map(({ definition }) => definition))]
  return new GraphQLError(message, { nodes, originalError: new ApiError('INVALID_ARGUMENT', message, { fields }) })
}

function variableErrors({ variable, type, defaultValue }: VariableDefinitionNode, variables: Variables): FieldError[] {
  const name = variable.name.value
  const inputType = typeFromAST(schema, type)
  if (!isInputType(inputType) || (defaultValue && !Object.hasOwn(variables, name))) return []
  return valueErrors(memberOf(variables, name), inputType)
}

function valueErrors(value: unknown, type: GraphQLInputType): FieldError[] {
  const nullable = getNullableType(type)
  if (value === undefined && nullable === type) return []
  if (isInputObjectType(nullable) && isMap(value)) return memberErrors(value, nullable)
  const messages: string[] = []
  coerceInputValue(value, type, (_path, _value, { message }) => messages.push(cleanMessage(message)))
  return messages.slice(0, 1).map((message) => ({ path: [], message }))
}

function memberErrors(value: Record<string, unknown>, type: GraphQLInputObjectType): FieldError[] {
  const members = type.getFields()
  const byContract = type.extensions.validate?.(value) ?? []
  const named = new Set(byContract.map(({ path: [name] }) => name))
  const byGraphQL = Object.values(members)
    .filter(({ name }) => !named.has(name))
    .flatMap(({ name, type }) =>
      valueErrors(memberOf(value, name), type).map((error) => ({ ...error, path: [name, ...error.path] })),
    )
  const unknown = Object.keys(value).filter((name) => !Object.hasOwn(members, name))
  return [
    ...byContract.map(({ path, message }) => ({ path: path.map(String), message })),
    ...byGraphQL,
    ...unknown.map((name) => ({ path: [name.slice(0, 100)], message: `is not a field of ${type.name}` })),
  ]
}

/** A member that the client sent, not one that every object inherits. */
function memberOf(value: Record<string, unknown>, name: string): unknown {
  return Object.hasOwn(value, name) ? value[name] : undefined
}

/** Where an operation uses each variable first: the argument, and the members of the input object in it. */
function argumentPaths(document: DocumentNode, operation: OperationDefinitionNode): Map<string, string[]> {
  const paths = new Map<string, string[]>()
  const path: string[] = []
  const named = {
    enter: ({ name }: ArgumentNode | ObjectFieldNode) => void path.push(name.value),
    leave: () => void path.pop(),
  }
  visit(separateOperations(document)[operation.name?.value ?? ''] ?? document, {
    Argument: named,
    ObjectField: named,
    Variable({ name: { value } }) {
      if (path.length > 0 && !paths.has(value)) paths.set(value, [...path])
    },
  })
  return paths
}
