// The running demo: who can sign in, and how to make a payment whose outcome nobody knows.
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

const asService = () => ({ authorization: `Bearer ${demo.service_tokens.acme}` })

/** What the console knows of an operation, by a person’s token. */
export async function operation(request: APIRequestContext, id: string) {
  const answer = await request.get(`/api/v1/operations/${id}`, {
    headers: { authorization: `Bearer ${demo.staff_tokens['operator@acme.test']}` },
  })
  expect(answer.status()).toBe(200)
  return answer.json()
}

/**
 * A charge that the provider took, whose reply was lost, and which it offers no lookup for. A
 * worker of the demo makes the call; reconciliation gives up; a person must decide.
 */
export async function unknownPayment(request: APIRequestContext, name: string): Promise<Payment> {
  const invoice = `E2E-${name}-${Date.now().toString(36)}-${Math.random().toString(36).slice(2, 8)}`
  const match = { reference: invoice }
  const rules = { payments: [{ match, mode: 'apply_drop' }, { match, mode: 'no_lookup' }] }
  expect((await request.post(`${demo.sandbox_url}/modes`, { data: rules })).ok()).toBe(true)
  const reserved = await request.post('/api/v1/operations', {
    headers: asService(),
    data: {
      operation: 'invoice.charge',
      key: `charge ${invoice}`,
      payload: { invoice_id: invoice, amount_minor: 12900, currency: 'EUR' },
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

/** The provider’s own list of what it did for an invoice. */
export async function ledger(request: APIRequestContext, invoice: string): Promise<{ id: string }[]> {
  const answer = await request.get(`${demo.sandbox_url}/ledger`, { params: { invoice_id: invoice } })
  expect(answer.ok()).toBe(true)
  return (await answer.text())
    .split('\n')
    .filter(Boolean)
    .map((line) => JSON.parse(line))
}

/** The one effect that the provider has for an invoice. */
export async function effectOf(request: APIRequestContext, invoice: string): Promise<{ id: string }> {
  const effects = await ledger(request, invoice)
  expect(effects, 'one charge').toHaveLength(1)
  return effects[0]!
}
