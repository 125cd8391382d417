import type { DocumentNode, ExecutionResult, FieldNode, GraphQLError, GraphQLField, GraphQLObjectType } from 'graphql'
import type { GraphQLOutputType, GraphQLResolveInfo, GraphQLSchema, OperationDefinitionNode } from 'graphql'
import { defaultFieldResolver, getArgumentValues, getNullableType, isLeafType, isListType, Kind } from 'graphql'
import { locatedError, OperationTypeNode, SchemaMetaFieldDef, TypeMetaFieldDef } from 'graphql'
import { TypeNameMetaFieldDef, visit } from 'graphql'
import { collectSubfields } from 'graphql/execution/collectFields.js'
import { lazyFor } from '../lib/lazy.ts'
import { fragmentsOf } from './analysis.ts'
import type { RequestedOperation } from './context.ts'
import type { GraphQLContext } from './schema/builder.ts'

const META_FIELDS = [SchemaMetaFieldDef, TypeMetaFieldDef, TypeNameMetaFieldDef]

/** The members of an object in the result. The object inherits nothing, because a member may be named `__proto__`. */
class ResultObject {
  [key: string | number]: unknown
}
Object.setPrototypeOf(ResultObject.prototype, null) // Object.create(null) makes objects that are slow to write and to format

/** A field of a selection set, for all objects that it is selected on. */
interface SelectedField {
  responseName: string
  /** The selections that share its response name. The first one has the arguments of all. */
  nodes: [FieldNode, ...FieldNode[]]
  parentType: GraphQLObjectType
  definition: GraphQLField<unknown, unknown>
  /** Undefined until there is an object to select them on. */
  subfields?: SelectedField[]
}

/** The place of a value in the result. */
interface Slot {
  values: ResultObject
  key: string | number
  type: GraphQLOutputType
  /** Undefined for `data`. */
  parent?: Slot
}

/** The fields of a document's operation, set if all of its executions share them. */
interface SharedFields {
  isShared: boolean
  fields?: SelectedField[]
}

/** @returns a function that executes one query or mutation */
export function createExecute(schema: GraphQLSchema) {
  const sharedOf = lazyFor<DocumentNode, SharedFields>(toSharedFields)
  return (request: RequestedOperation, context: GraphQLContext): Promise<ExecutionResult> =>
    new Execution(schema, request, context, sharedOf(request.document)).run()
}

/**
 * Without directives, the fields of an operation do not depend on variables. To select them for each execution would take
 * a fifth of the pipeline's CPU time for a lookup. Of a hundred operations in a document, they would take megabytes.
 */
function toSharedFields(document: DocumentNode): SharedFields {
  let isShared = document.definitions.filter(({ kind }) => kind === Kind.OPERATION_DEFINITION).length === 1
  visit(document, { Directive: () => void (isShared = false) })
  return { isShared }
}

/**
 * Executes one query or mutation with the same result as graphql-js, which takes twice the time for a page: here a field is
 * looked up once for all items of a list. Resolvers must return neither errors nor lists of promises.
 */
class Execution {
  readonly #operation: OperationDefinitionNode
  readonly #context: GraphQLContext
  readonly #commonInfo
  readonly #shared: SharedFields
  readonly #errors: GraphQLError[] = []
  readonly #pending: Promise<void>[] = []

  constructor(schema: GraphQLSchema, request: RequestedOperation, context: GraphQLContext, shared: SharedFields) {
    const { document, operation, variables } = request
    this.#operation = operation
    this.#context = context
    this.#commonInfo = { schema, fragments: fragmentsOf(document), variableValues: variables }
    this.#shared = shared
  }

  async run(): Promise<ExecutionResult> {
    const operation = this.#operation
    const type = this.#commonInfo.schema.getRootType(operation.operation) as GraphQLObjectType // checked when it was selected
    const data = new ResultObject()
    const result: ExecutionResult = { data }
    const root: Slot = { values: result as ResultObject, key: 'data', type } // by which a failure sets `data` to null
    try {
      const fields = this.#shared.fields ?? this.#toFields(type, [operation])
      if (this.#shared.isShared) this.#shared.fields = fields
      for (const field of fields) {
        this.#resolve(field, undefined, data, root)
        if (operation.operation === OperationTypeNode.MUTATION) await this.#settle()
        if (result.data !== data) break // a failed mutation has set `data` to null
      }
    } catch (error) {
      this.#fail(error, root)
    }
    await this.#settle()
    return this.#errors.length > 0 ? { errors: this.#errors, ...result } : result
  }

  /** Waits for all promises of resolvers, and for those of their subfields. */
  async #settle(): Promise<void> {
    for (let next = this.#pending.pop(); next; next = this.#pending.pop()) await next
  }

  #toFields(parentType: GraphQLObjectType, parents: readonly Pick<FieldNode, 'selectionSet'>[]): SelectedField[] {
    const { schema, fragments, variableValues } = this.#commonInfo
    const fieldNodes = parents as readonly FieldNode[] // only their selection sets are read
    const selected = collectSubfields(schema, fragments, variableValues, parentType, fieldNodes)
    const fields = parentType.getFields()
    return [...selected.values()].map((selections) => {
      const nodes = selections as SelectedField['nodes'] // at least one
      const { alias, name } = nodes[0]
      const definition = fields[name.value] ?? META_FIELDS.find((meta) => meta.name === name.value)
      if (!definition) throw new Error(`${parentType.name}.${name.value} is not in the schema.`)
      return { responseName: (alias ?? name).value, nodes, parentType, definition }
    })
  }

  #resolve(field: SelectedField, source: unknown, values: ResultObject, parent: Slot): void {
    const { definition, responseName, nodes: fieldNodes, parentType } = field
    const { name: fieldName, type: returnType } = definition
    const { schema, fragments, variableValues } = this.#commonInfo
    const slot: Slot = { values, key: responseName, type: returnType, parent }
    // Has only what resolvers read. A spread would take several times as long.
    const info = { fieldName, fieldNodes, parentType, returnType, schema, fragments, variableValues }
    try {
      const args = definition.args.length > 0 ? getArgumentValues(definition, fieldNodes[0], variableValues) : {}
      const resolve = definition.resolve ?? defaultFieldResolver
      const value = resolve(source, args, this.#context, info as unknown as GraphQLResolveInfo)
      // A promise may be of any class: Prisma's are no instances of Promise.
      if (typeof value !== 'object' || value === null || !('then' in value)) return this.#complete(value, field, slot)
      values[responseName] = undefined // keeps the order of the document
      const complete = (resolved: unknown) => this.#complete(resolved, field, slot)
      this.#pending.push(Promise.resolve(value).then(complete, (error: unknown) => this.#fail(error, slot, field)))
    } catch (error) {
      this.#fail(error, slot, field)
    }
  }

  #complete(value: unknown, field: SelectedField, slot: Slot): void {
    const type = getNullableType(slot.type)
    try {
      if (value === null || value === undefined) {
        const name = `${field.parentType}.${field.definition.name}`
        if (type !== slot.type) throw new Error(`Cannot return null for non-nullable field ${name}.`)
        slot.values[slot.key] = null
      } else if (isLeafType(type)) slot.values[slot.key] = type.serialize(value)
      else if (isListType(type)) this.#completeList(value as unknown[], type.ofType, field, slot)
      else this.#completeObject(value, type as GraphQLObjectType, field, slot) // there are no other types
    } catch (error) {
      this.#fail(error, slot, field)
    }
  }

  #completeList(items: unknown[], type: GraphQLOutputType, field: SelectedField, slot: Slot): void {
    const list: unknown[] = (slot.values[slot.key] = [])
    const values = list as unknown as ResultObject // the members of an array are its items
    for (const [key, item] of items.entries()) {
      this.#complete(item, field, { values, key, type, parent: slot })
      if (slot.values[slot.key] !== list) return // an item that must not be null has failed
    }
  }

  #completeObject(source: unknown, type: GraphQLObjectType, field: SelectedField, slot: Slot): void {
    const object = (slot.values[slot.key] = new ResultObject())
    field.subfields ??= this.#toFields(type, field.nodes)
    for (const subfield of field.subfields) this.#resolve(subfield, source, object, slot)
  }

  /** Reports an error, unless it is inside a value that is null already, and sets the nearest nullable value to null. */
  #fail(error: unknown, slot: Slot, field?: SelectedField): void {
    const path: (string | number)[] = []
    let isInNull = false
    for (let at = slot; at.parent; at = at.parent) {
      isInNull ||= at.parent.values[at.parent.key] !== at.values
      path.unshift(at.key)
    }
    if (!isInNull) this.#errors.push(locatedError(error, field?.nodes, field && path))
    // Each value on the way becomes null, so that #completeList of a list stops.
    for (let at: Slot | undefined = slot; at; at = at.type === getNullableType(at.type) ? undefined : at.parent)
      at.values[at.key] = null
  }
}
