// What only a browser can show of the threats of docs/security.md: nothing that is stored runs once the
// islands live, no page breaks its own policy, and Back after signing out shows nobody's data.
import { demo } from './demo'
import { alive, expect, signIn, test } from './fixtures'
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
