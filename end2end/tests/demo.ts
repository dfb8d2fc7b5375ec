// The running demo: who can sign in, and how to make a payment whose outcome nobody knows.
import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { type APIRequestContext, expect } from '@playwright/test'

interface Demo {
  url: string
  database_url: string
  password: string
  staff_tokens: Record<string, string>
  service_tokens: Record<string, string>
  sandbox_url: string
}

const path = process.env.ONCEOVER_E2E_DEMO
if (!path) throw new Error('ONCEOVER_E2E_DEMO is not set; run ci/browser.sh, or name a running demo’s demo.json')
export const demo = JSON.parse(readFileSync(path, 'utf8')) as Demo

export interface Payment {
  id: string
  invoice: string
  version: number
}

/** A name that nothing else has. */
export const fresh = (what: string) => `${what}-${Date.now().toString(36)}-${Math.random().toString(36).slice(2, 8)}`

export const bearer = (token: string | undefined) => ({ authorization: `Bearer ${token}` })

/** What the console knows of an operation, by a person’s token. */
export async function operation(request: APIRequestContext, id: string) {
  const answer = await request.get(`/api/v1/operations/${id}`, { headers: bearer(demo.staff_tokens['operator@acme.test']) })
  expect(answer.status()).toBe(200)
  return answer.json()
}

/** Puts rules in force at the payments’ provider for whatever names this invoice. */
export async function payments(request: APIRequestContext, invoice: string, rules: { mode: string; [more: string]: unknown }[]) {
  const data = { payments: rules.map((rule) => ({ match: { reference: invoice }, ...rule })) }
  expect((await request.post(`${demo.sandbox_url}/modes`, { data })).ok()).toBe(true)
}

/**
 * A charge whose call is ambiguous, and which the provider offers no lookup for: as a rule one that it
 * took and whose reply was lost. A worker of the demo makes the call; reconciliation gives up; a person
 * must decide. `lookups` is how often the provider offers none before it does.
 */
export async function unknownPayment(
  request: APIRequestContext,
  name: string,
  { amount = 12900, mode = 'apply_drop', lookups = undefined as number | undefined } = {},
): Promise<Payment> {
  const invoice = fresh(`E2E-${name}`)
  await payments(request, invoice, [{ mode }, { mode: 'no_lookup', times: lookups }])
  const reserved = await request.post('/api/v1/operations', {
    headers: bearer(demo.service_tokens.acme),
    data: {
      operation: 'invoice.charge',
      key: `charge ${invoice}`,
      payload: { invoice_id: invoice, amount_minor: amount, currency: 'EUR' },
      mode: 'queued',
    },
  })
  expect(reserved.status()).toBe(202)
  const { id } = (await reserved.json()) as { id: string }
  await expect
    .poll(async () => (await operation(request, id)).needs_manual, { timeout: 30_000, message: 'a person is needed' })
    .toBe(true)
  return { id, invoice, version: (await operation(request, id)).version }
}

/** The providers’ own list of what they did, by the names that it knows. */
export async function effects(request: APIRequestContext, terms: Record<string, string>): Promise<{ id: string }[]> {
  const answer = await request.get(`${demo.sandbox_url}/ledger`, { params: terms })
  expect(answer.ok()).toBe(true)
  return lines(await answer.text())
}

/** What an answer of one JSON object a line holds. */
export const lines = (text: string) => text.split('\n').filter(Boolean).map((line) => JSON.parse(line))

/** The provider’s own list of what it did for an invoice. */
export const ledger = (request: APIRequestContext, invoice: string) => effects(request, { invoice_id: invoice })

/** The one effect that the provider has for an invoice. */
export async function effectOf(request: APIRequestContext, invoice: string): Promise<{ id: string }> {
  const effects = await ledger(request, invoice)
  expect(effects, 'one charge').toHaveLength(1)
  return effects[0]!
}

/** A statement of the database’s owner, for what no page and no call can bring about; what it returns. */
export function asOwner(sql: string): string {
  const args = ['-X', '-q', '-t', '-A', '-v', 'ON_ERROR_STOP=1', '-d', demo.database_url, '-c', sql]
  return execFileSync('psql', args, { encoding: 'utf8' }).trim()
}

/** Somebody whom nobody else signs in as, with the demo’s password and a role in each tenant named. */
export function newPerson(name: string, roles: Record<string, string>): { id: string; email: string } {
  const email = `${fresh(name)}@acme.test`
  const places = Object.entries(roles).map(([tenant, role]) => `('${tenant}', '${role}')`)
  const id = asOwner(`
    with one as (
      insert into staff (email, name, password_hash)
      select '${email}', 'Pat ${name}', password_hash from staff where email = 'viewer@acme.test' returning id
    ), placed as (
      insert into memberships (tenant_id, staff_id, role, granted_by)
      select t.id, one.id, place.role, 'command line'
      from one, (values ${places.join(', ')}) as place (tenant, role) join tenants t on t.slug = place.tenant
    )
    select id from one`)
  expect(id).toMatch(/^[0-9a-f-]{36}$/)
  return { id, email }
}
