import type { ASTNode, DocumentNode, GraphQLInputObjectType, GraphQLInputType } from 'graphql'
import type { OperationDefinitionNode, VariableDefinitionNode } from 'graphql'
import { coerceInputValue, getNullableType, GraphQLError, isInputObjectType, isInputType, isListType } from 'graphql'
import { Kind, separateOperations, typeFromAST, visit } from 'graphql'
import { CREATE_SIZE, createSizeMessage } from '../animals/animal.ts'
import { ApiError, describeFields, type FieldError, MAX_FIELDS } from '../errors.ts'
import { cleanMessage } from './errors.ts'
import { isMap } from './params.ts'
import { schema } from './schema/index.ts'

type Variables = Record<string, unknown>

/**
 * The error of variables that cannot be coerced. It names up to MAX_FIELDS wrong fields at once, with the messages of the
 * contract, and so of the REST API, where the type has one, else with those of graphql-js.
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
  // In the message a member is named without the argument, as in the REST API; in `fields` with it.
  const isMember = ({ path: [name] }: FieldError) => typeof name === 'string'
  const message = describeFields(wrong.map((error, i) => (isMember(error) ? error : (fields[i] ?? error))))
  const nodes = [...new Set(wrong.map(({ definition }) => definition))]
  return new GraphQLError(message, { nodes, originalError: new ApiError('INVALID_ARGUMENT', message, { fields }) })
}

/** Whether a list has more items than any argument takes. A body has room for thousands, which take long to coerce. */
export function isTooLong(value: unknown): boolean {
  return Array.isArray(value) && value.length > CREATE_SIZE.max
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
  if (isListType(nullable) && isTooLong(value)) return [{ path: [], message: createSizeMessage }]
  if (isListType(nullable) && value != null)
    return [value].flat().flatMap((item, n) => errorsIn(n, item, nullable.ofType))
  if (isInputObjectType(nullable) && isMap(value)) return memberErrors(value, nullable)
  const messages: string[] = []
  coerceInputValue(value, type, (_path, _value, { message }) => messages.push(cleanMessage(message)))
  return messages.slice(0, 1).map((message) => ({ path: [], message }))
}

/** The errors of a value in another one. */
function errorsIn(key: string | number, value: unknown, type: GraphQLInputType): FieldError[] {
  return valueErrors(value, type).map(({ path, message }) => ({ path: [key, ...path], message }))
}

function memberErrors(value: Record<string, unknown>, type: GraphQLInputObjectType): FieldError[] {
  const members = type.getFields()
  const byContract = type.extensions.validate?.(value) ?? []
  const named = new Set(byContract.map(({ path: [name] }) => name))
  const byGraphQL = Object.values(members)
    .filter(({ name }) => !named.has(name))
    .flatMap(({ name, type }) => errorsIn(name, memberOf(value, name), type))
  const unknown = Object.keys(value).filter((name) => !Object.hasOwn(members, name))
  return [
    ...byContract,
    ...byGraphQL,
    ...unknown.map((name) => ({ path: [name.slice(0, 100)], message: `is not a field of ${type.name}` })),
  ]
}

/** A member that the client sent, not one that every object inherits. */
function memberOf(value: Record<string, unknown>, name: string): unknown {
  return Object.hasOwn(value, name) ? value[name] : undefined
}

/** Where an operation uses each variable first: the argument, and the members and items in it. */
function argumentPaths(document: DocumentNode, operation: OperationDefinitionNode): Map<string, PropertyKey[]> {
  const paths = new Map<string, PropertyKey[]>()
  const path: PropertyKey[] = []
  visit(separateOperations(document)[operation.name?.value ?? ''] ?? document, {
    enter(node, _key, _parent, place) {
      path.push(...stepsTo(node, place))
      if (node.kind !== Kind.VARIABLE || path.length === 0 || paths.has(node.name.value)) return
      paths.set(node.name.value, [...path])
    },
    leave(node, _key, _parent, place) {
      path.length -= stepsTo(node, place).length
    },
  })
  return paths
}

/**
 * What a node adds to a path: the name of an argument or of a member, or the index of an item of a list.
 * @param place in the document, as `visit` describes it
 */
function stepsTo(node: ASTNode, place: readonly PropertyKey[]): PropertyKey[] {
  if (node.kind === Kind.ARGUMENT || node.kind === Kind.OBJECT_FIELD) return [node.name.value]
  return place.at(-2) === 'values' ? place.slice(-1) : []
}
