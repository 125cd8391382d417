import type { ArgumentNode, DocumentNode, GraphQLInputObjectType, GraphQLInputType, ObjectFieldNode } from 'graphql'
import type { OperationDefinitionNode, VariableDefinitionNode } from 'graphql'
import { coerceInputValue, getNullableType, GraphQLError, isInputObjectType, isInputType } from 'graphql'
import { separateOperations, typeFromAST, visit } from 'graphql'
import { ApiError, describeFields, type FieldError, MAX_FIELDS } from '../errors.ts'
import { cleanMessage } from './request-errors.ts'
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
      valueErrors(memberOf(value, name), type).map(({ path, message }) => ({ path: [name, ...path], message })),
    )
  const unknown = Object.keys(value)
    .filter((name) => !Object.hasOwn(members, name))
    .slice(0, MAX_FIELDS)
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

/** Where an operation uses each variable first: the argument, and the members of the input in it. */
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
