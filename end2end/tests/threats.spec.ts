// What only a browser can show of the threats of docs/security.md: nothing that is stored runs once the
// islands live, no page breaks its own policy, and Back after signing out shows nobody's data.
import { demo, newPerson, operation, unknownPayment } from './demo'
import { alive, enter, expect, signIn, test } from './fixtures'
import * as records from './records'
import { threat } from './threats'

const hostile = [
  '<script>window.__xss=1</script>',
  '"><script>window.__xss=1</script>',
  '</title><script>window.__xss=1</script>',
  '</textarea><script>window.__xss=1</script>',
  '</script><script>window.__xss=1</script>',
  '<img src=x onerror=window.__xss=1>',
  '"><svg onload=window.__xss=1>',
  '" autofocus onfocus="window.__xss=1',
  "' autofocus onfocus='window.__xss=1",
  '<iframe srcdoc="<script>parent.__xss=1</script>">',
  'javascript:window.__xss=1',
  '<details open ontoggle=window.__xss=1>',
]

test('what merchants store never runs, once every island lives', async ({ page, request }) => {
  test.setTimeout(180_000)
  const run = Date.now().toString(36)
  const headers = { authorization: `Bearer ${demo.service_tokens.acme}` }
  const ids: string[] = []
  for (const [n, words] of hostile.entries()) {
    const data = {
      operation: 'invoice.charge',
      key: `${words} ${run}`,
      payload: { invoice_id: `${words} ${n}-${run}`, amount_minor: 100, currency: 'EUR', memo: words },
    }
    const answer = await request.post('/api/v1/operations', { headers, data })
    expect(answer.status(), words).toBe(201)
    ids.push(((await answer.json()) as { id: string }).id)
  }
  await signIn(page, 'operator@acme.test')
  let tried = 0
  for (const place of [
    '/operations',
    '/leases',
    ...hostile.map((words) => `/search?q=${encodeURIComponent(words)}`),
    ...ids.flatMap((id) => [`/operations/${id}`, `/operations/${id}/cancel`, `/operations/${id}/evidence`]),
  ]) {
    await page.goto(place)
    await alive(page)
    expect(await page.evaluate(() => '__xss' in window), place).toBe(false)
    tried += 1
  }
  threat('T01', tried, 0)
})

/** All of them in as few texts as fit. */
function packed(most: number): string[] {
  const texts: string[] = []
  for (const words of hostile.filter(({ length }) => length <= most)) {
    const last = texts.at(-1)
    if (last !== undefined && last.length + words.length < most) texts[texts.length - 1] = `${last} ${words}`
    else texts.push(words)
  }
  return texts
}

test('what people write never runs on any page that shows it', async ({ page, request }) => {
  test.setTimeout(180_000)
  const [text] = packed(2_000)
  const [reference] = packed(500)
  const about = async (id: string) => ({ version: (await operation(request, id)).version, reason: text })

  // Notes, reasons, evidence, references, requests, and what stands over incidents.
  const draft = await records.preview(request)
  await records.decide(request, `/operations/${draft.id}/notes`, { form_key: records.minted(), text })
  const cancelled = await records.decide(request, `/operations/${draft.id}/actions/cancel`, await about(draft.id))
  const payment = await unknownPayment(request, 'hostile')
  const happened = { outcome: 'happened', external_reference: reference, evidence: 'javascript:window.__xss=1' }
  const confirm = { ...(await about(payment.id)), ...happened }
  const confirmed = await records.decide(request, `/operations/${payment.id}/actions/confirm`, confirm)
  const refund = await records.decide(request, `/operations/${payment.id}/actions/compensate`, await about(payment.id))
  const letter = await records.waitingLetter(request)
  const { version } = await records.read(request, `/workflows/${letter.id}`)
  await records.decide(request, `/workflows/${letter.id}/actions/cancel`, { version, reason: text })
  const incidents = []
  for (const title of packed(200)) incidents.push(await records.incident(request, title, [draft.id], text))

  // Views and tokens have forms alone.
  const { email } = newPerson('hostile', { acme: 'tenant-admin' })
  await signIn(page, email)
  const post = async (path: string, form: Record<string, string>) => {
    const answer = await page.request.post(path, { form, headers: { origin: new URL(page.url()).origin }, maxRedirects: 0 })
    expect([200, 303], path).toContain(answer.status())
    expect(answer.headers().location ?? '', path).not.toContain('refused')
  }
  for (const name of packed(80)) await post('/views', { list: 'operations', name, query: 'status=unknown' })
  for (const token_name of packed(100)) {
    await post('/tokens/made', { id: records.minted(), own: 'false', token_name, verbs: 'read', days: '1', reason: text! })
  }

  let tried = 0
  const shows = async (...places: string[]) => {
    for (const place of places) {
      await page.goto(place)
      await expect(page.locator('.search-key'), `${place} is alive`).toBeVisible()
      expect(await page.locator('main').textContent(), `${place} shows it`).toContain('__xss')
      expect(await page.evaluate(() => '__xss' in window), place).toBe(false)
      await expect(page.locator('a[href^="javascript:" i]'), `${place} makes no link of it`).toHaveCount(0)
      tried += 1
    }
  }
  await shows('/operations', '/audit', '/admin/tokens')
  const token = page.locator('main a.row-link').filter({ hasText: '__xss' }).first()
  await shows((await token.getAttribute('href'))!)
  await page.context().clearCookies()
  await enter(page, 'operator@acme.test')
  await shows(
    `/operations/${draft.id}`,
    `/operations/${payment.id}`,
    `/receipts/${cancelled.id}`,
    `/receipts/${confirmed.id}`,
    `/approvals/${refund.id}`,
    `/approvals/${refund.id}/withdraw`,
    `/workflows/${letter.id}`,
    '/incidents',
    `/incidents/gather?record=operation/${draft.id}`,
    ...incidents.flatMap((id) => [`/incidents/${id}`, `/incidents/${id}/close`, `/incidents/${id}/report`]),
  )
  // What waits for somebody would wait for the tests after this one.
  await records.decide(request, `/approvals/${refund.id}/actions/withdraw`, { version: refund.version, reason: text })
  for (const id of incidents) {
    const { version } = await records.read(request, `/incidents/${id}`)
    await records.decide(request, `/incidents/${id}/actions/close`, { version, reason: text })
  }
  threat('T01', tried, 0)
  threat('T02', tried, 0)
})

test('no page breaks its own content security policy', async ({ page }) => {
  test.setTimeout(180_000)
  const broken: string[] = []
  await page.exposeFunction('policyBroken', (what: string) => broken.push(what))
  await page.addInitScript(() => {
    document.addEventListener('securitypolicyviolation', (event) => {
      const told = window as unknown as { policyBroken: (what: string) => void }
      told.policyBroken(`${location.pathname}: ${event.violatedDirective} ${event.blockedURI}`)
    })
  })
  await page.goto('/sign-in')
  await alive(page)
  await signIn(page, 'admin@acme.test')
  const left = ['/', '/operations', '/workflows', '/outbox', '/inbox', '/conflicts', '/approvals', '/incidents']
  left.push('/bulks', '/leases', '/audit', '/admin/kinds', '/admin/new-kind', '/admin/staff', '/me', '/search', '/help')
  const seen = new Set<string>()
  let tried = 1
  // Each list, and the first record of each with the first of its forms.
  for (let place = left.shift(); place; place = left.shift()) {
    if (seen.has(place)) continue
    seen.add(place)
    await page.goto(place)
    await alive(page)
    tried += 1
    const row = await page.locator('main a.row-link').first().getAttribute('href', { timeout: 500 }).catch(() => null)
    if (row) left.push(row)
  }
  expect(broken).toEqual([])
  threat('T08', tried, 0)
})

test('back after signing out shows the sign-in page and nobody’s data', async ({ page }) => {
  await signIn(page, 'viewer@acme.test', '/operations')
  await alive(page)
  const row = page.locator('main a.row-link').first()
  await expect(row).toBeVisible()
  const href = await row.getAttribute('href')
  await page.goto(href!)
  await alive(page)
  await page.locator('form[action="/sign-out"] button').first().click()
  await expect(page).toHaveURL(/\/sign-in/)
  for (let steps = 0; steps < 2; steps += 1) {
    await page.goBack()
    await expect(page).toHaveURL(/\/sign-in/)
    await expect(page.locator(`a[href="${href}"]`)).toHaveCount(0)
  }
  threat('T44', 2, 0)
})
