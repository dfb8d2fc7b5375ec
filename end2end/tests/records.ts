// Records in the state that a decision needs, made the way services and providers make them, and what the
// console knows of them afterwards.
import { randomBytes } from 'node:crypto'
import { type APIRequestContext, expect } from '@playwright/test'
import { asOwner, bearer, demo, effects, fresh, lines, payments } from './demo'

/** A call of the JSON API as a tenant’s service. */
export async function asService(request: APIRequestContext, path: string, data: object, tenant = 'acme') {
  const answer = await request.post(`/api/v1${path}`, { headers: bearer(demo.service_tokens[tenant]), data })
  expect(answer.ok(), `${path}: ${answer.status()} ${await answer.text()}`).toBe(true)
  return answer.json()
}

/** What the JSON API tells a person’s program. */
export async function read(request: APIRequestContext, path: string, email = 'operator@acme.test') {
  const answer = await request.get(`/api/v1${path}`, { headers: bearer(demo.staff_tokens[email]) })
  expect(answer.status(), path).toBe(200)
  return answer.json()
}

/** What a person’s program decides. */
export async function decide(request: APIRequestContext, path: string, data: object, email = 'operator@acme.test') {
  const answer = await request.post(`/api/v1${path}`, { headers: bearer(demo.staff_tokens[email]), data })
  expect(answer.ok(), `${path}: ${answer.status()} ${await answer.text()}`).toBe(true)
  return answer.status() === 204 ? undefined : answer.json()
}

/** Waits until a record is as it should be; the record. */
export async function until<T>(reading: () => Promise<T>, holds: (record: T) => boolean, what: string): Promise<T> {
  let last!: T
  await expect
    .poll(async () => holds((last = await reading())), { timeout: 30_000, message: what })
    .toBe(true)
  return last
}

// A preview is a draft that services make for themselves: no worker of the demo takes it over.

export interface Preview {
  id: string
  key: string
  fence: number
}

const previewOf = (key: string) => ({ operation: 'draft.preview', key, payload: { draft_id: key, topic: 'renewal' } })

/** A draft that its service has reserved and not begun. */
export async function preview(request: APIRequestContext, key = fresh('PRE'), tenant = 'acme'): Promise<Preview> {
  const { id, fence } = await asService(request, '/operations', previewOf(key), tenant)
  return { id, key, fence }
}

/** How the service is answered that asks for the same draft again. */
export const askedAgain = (request: APIRequestContext, { key }: Preview) =>
  request.post('/api/v1/operations', { headers: bearer(demo.service_tokens.acme), data: previewOf(key) })

/** A draft whose service says how its call went, and what it tells others with that. */
export async function finished(request: APIRequestContext, outcome: string, events: object[] = []): Promise<Preview> {
  const draft = await preview(request)
  await asService(request, `/operations/${draft.id}/start`, { fence: draft.fence })
  await asService(request, `/operations/${draft.id}/finish`, { fence: draft.fence, outcome, events })
  return draft
}

/** A draft whose service died before it began: its lease has ended. */
export async function stuckLease(request: APIRequestContext): Promise<Preview> {
  const draft = await preview(request)
  const reading = () => read(request, `/operations/${draft.id}`)
  await until(reading, ({ lease }) => lease.state === 'stale', 'its lease has ended')
  return draft
}

/** A charge that a worker carried out and the provider answered. */
export async function charged(request: APIRequestContext, name: string) {
  const invoice = fresh(`E2E-${name}`)
  const payload = { invoice_id: invoice, amount_minor: 12_900, currency: 'EUR' }
  const data = { operation: 'invoice.charge', key: `charge ${invoice}`, payload, mode: 'queued' }
  const { id } = await asService(request, '/operations', data)
  await until(() => read(request, `/operations/${id}`), ({ status }) => status === 'succeeded', 'charged')
  return { id: id as string, invoice }
}

async function consumer(request: APIRequestContext): Promise<string> {
  const { consumer } = await (await request.get(`${demo.sandbox_url}/addresses`)).json()
  return consumer
}

/** What the consumer of events has taken about an aggregate, in that order. */
export async function taken(request: APIRequestContext, aggregate: string): Promise<{ topic: string; deliveries: number }[]> {
  const answer = await request.get(`${await consumer(request)}/ledger`, { params: { aggregate } })
  expect(answer.ok()).toBe(true)
  return lines(await answer.text())
}

/** An event that was refused until it was dead, and another that waits behind it; the consumer would take it now. */
export async function deadEvent(request: APIRequestContext) {
  const aggregate = fresh('draft:E2E')
  const match = { tenant: 'acme', aggregate, topic: 'draft.made' }
  const rules = [{ match, mode: 'reject', code: 'unknown_customer', times: 2 }]
  expect((await request.post(`${await consumer(request)}/modes`, { data: rules })).ok()).toBe(true)
  const events = ['draft.made', 'draft.due'].map((topic) => ({ aggregate, topic, payload: { draft: aggregate } }))
  await finished(request, 'done', events)
  const reading = () => read(request, `/outbox?status=dead&aggregate=${encodeURIComponent(aggregate)}`)
  const { items } = await until(reading, ({ items }) => items.length === 1, 'the event is dead')
  return { id: items[0].id as string, aggregate }
}

/** Longer ago than every consumer remembers. */
const LONG_AGO = '2024-02-29T08:00:00Z'

/** A delivery of a message that came too late, and asks for a document to be published or for money. */
export async function deliver(
  request: APIRequestContext,
  message: string,
  payload: object = { document_id: message, version: 1 },
  operation = 'document.publish',
) {
  const about = { consumer: 'billing', source: 'shop.orders', message_id: message, produced_at: LONG_AGO }
  const data = { ...about, payload, then: { operation: { operation } } }
  const answer = await request.post('/api/v1/inbox', { headers: bearer(demo.service_tokens.acme), data })
  return answer.json()
}

async function workflow(request: APIRequestContext, kind: string, input: object) {
  const { id } = await asService(request, '/workflows', { kind, key: fresh('e2e'), input })
  return id as string
}

/** A letter whose draft waits for a service outside that nobody runs. */
export async function waitingLetter(request: APIRequestContext) {
  const letter = fresh('LTR')
  const input = { draft_id: letter, topic: 'renewal', campaign_id: letter, recipient_id: 'rcp-0199' }
  const id = await workflow(request, 'letter.review', input)
  const reading = () => read(request, `/workflows/${id}`)
  const { steps } = await until(reading, ({ steps }) => steps[0].operation_id !== null, 'its draft is reserved')
  return { id, letter, input, draft: steps[0].operation_id as string }
}

/** What the workflow was started with, as its owner wrote it over. */
function rewrite(id: string, input: object) {
  const bytes = Buffer.from(JSON.stringify(input)).toString('hex')
  asOwner(`set session_replication_role = replica; update workflows set input = decode('${bytes}', 'hex') where id = '${id}'`)
}

/**
 * A letter that was drafted and then blocked, for it says another topic than the draft was made of.
 * `mend` puts the topic back.
 */
export async function blockedLetter(request: APIRequestContext) {
  const { id, letter, input, draft } = await waitingLetter(request)
  rewrite(id, { ...input, topic: 'another' })
  const { fence } = await asService(request, `/workflows/${id}/steps/draft/start`, {})
  await asService(request, `/operations/${draft}/start`, { fence })
  const response = { body: JSON.stringify({ text: 'Dear reader' }) }
  await asService(request, `/workflows/${id}/steps/draft/checkpoint`, { fence, outcome: 'done', response })
  await until(() => read(request, `/workflows/${id}`), ({ status }) => status === 'blocked', 'it is blocked')
  return { id, letter, draft, mend: () => rewrite(id, input) }
}

/** A release whose publication is refused and whose refund goes wrong in the given way: its undoing is stuck. */
export async function stuckRelease(request: APIRequestContext, refund: { mode: string; [more: string]: unknown }[]) {
  const [invoice, document] = [fresh('E2E-INV'), fresh('DOC')]
  const publications = [{ match: { reference: document }, mode: 'reject', code: 'forbidden_word' }]
  expect((await request.post(`${demo.sandbox_url}/modes`, { data: { publications } })).ok()).toBe(true)
  await payments(request, invoice, refund.map((rule) => ({ match: { reference: invoice, kind: 'refund' }, ...rule })))
  const input = { invoice_id: invoice, amount_minor: 19_000, currency: 'EUR', document_id: document, version: 1 }
  const id = await workflow(request, 'document.release', input)
  const flow = await until(
    () => read(request, `/workflows/${id}`),
    ({ status }) => status === 'compensation_stuck',
    'its undoing is stuck',
  )
  return { id, invoice, undo: undoOf(flow).id as string }
}

/** The undo of a workflow’s charge, or of an operation, as its plan tells it. */
export const undoOf = ({ plan }: { plan: { undone: { undo: Undo | null }[] } }): Undo =>
  plan.undone.map(({ undo }) => undo).find((undo) => undo !== null)!

interface Undo {
  id: string
  n: number
  status: string
  undo_status: string | null
  passed: boolean
}

/** Refunds that the provider made for an invoice. */
export const refunds = (request: APIRequestContext, invoice: string) => effects(request, { invoice_id: invoice, kind: 'refund' })

/** An id that tells its time, as forms carry one for what they make. */
export function minted(): string {
  const chance = randomBytes(9).toString('hex')
  const hex = `${Date.now().toString(16).padStart(12, '0')}7${chance.slice(0, 3)}a${chance.slice(3)}`
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5')
}

/** An open incident about operations. */
export async function incident(request: APIRequestContext, summary: string, operations: string[], reason = 'They belong together.') {
  const id = minted()
  const records = operations.map((operation) => `operation/${operation}`)
  await decide(request, '/incidents', { id, summary, reason, records })
  return id
}
