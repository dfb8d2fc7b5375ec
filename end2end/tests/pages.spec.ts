// Every page, both ways, is looked at; see look.ts.
import { asOwner, effectOf, fresh, newPerson, unknownPayment } from './demo'
import { alive, enter, expect, signIn, test } from './fixtures'
import { look } from './look'
import * as records from './records'

test('sign-in @no-js', async ({ page }) => {
  await page.goto('/sign-in')
  await look(page, 'sign-in')
})

test('the first page shows what needs a person, without a click', async ({ page }) => {
  await enter(page, 'operator@acme.test')
  for (const queue of ['Unknown outcomes', 'Stuck leases', 'Payload conflicts']) {
    await expect(page.getByText(queue).first()).toBeVisible()
  }
  for (const cause of ['unknown_outcome', 'stuck_lease', 'payload_conflict']) {
    await page.goto(`/?cause=${cause}`)
    await expect(page.locator('main a[href^="/operations/"]').first(), `${cause} is there`).toBeVisible()
  }
})

test('the first page @no-js', async ({ page }) => {
  await enter(page, 'operator@acme.test')
  await expect(page.getByText('Unknown outcomes').first()).toBeVisible()
  await look(page, 'attention')
})

test('lists @no-js', async ({ page }) => {
  test.setTimeout(120_000)
  await enter(page, 'viewer@acme.test', '/operations')
  await look(page, 'operations')
  await page.goto('/operations?status=unknown&needs_manual=true')
  await look(page, 'operations-filtered')
  await page.goto('/operations?q=no+such+thing')
  await look(page, 'operations-empty')
})

test('an operation, its forms and its receipt @no-js', async ({ page, request }) => {
  test.setTimeout(120_000)
  const payment = await unknownPayment(request, 'look')
  await enter(page, 'operator@acme.test', `/operations/${payment.id}`)
  await look(page, 'operation-unknown')
  for (const verb of ['confirm', 'reconcile']) {
    await page.goto(`/operations/${payment.id}/${verb}`)
    await look(page, `form-${verb}`)
  }
  await page.goto(`/operations/${payment.id}/confirm`)
  await alive(page)
  const effect = await effectOf(request, payment.invoice)
  await page.locator('input[name=outcome][value=happened]').check()
  await page.locator('input[name=external_reference]').fill(effect.id)
  await page.locator('input[name=reason]').fill('Seen in the provider’s list.')
  await page.getByRole('button', { name: /^Confirm/ }).click()
  await expect(page).toHaveURL(/\/receipts\//)
  await look(page, 'receipt')
  await page.goto(`/operations/${payment.id}`)
  await look(page, 'operation-succeeded')
})

test('the form that releases a stuck lease @no-js', async ({ page }) => {
  await signIn(page, 'operator@acme.test', '/leases')
  await page.locator('main a.row-link[href^="/operations/"]').first().click()
  await expect(page).toHaveURL(/\/operations\/[0-9a-f-]{36}/)
  await page.goto(`${new URL(page.url()).pathname}/release`)
  await expect(page.locator('main form input[name=reason]')).toBeVisible()
  await look(page, 'form-release')
})

test('a payload conflict, field by field @no-js', async ({ page }) => {
  await enter(page, 'operator@acme.test', '/operations?conflict=true')
  await page.locator('main a[href^="/operations/"]').first().click()
  await expect(page).toHaveURL(/\/operations\/[0-9a-f-]{36}/)
  await look(page, 'operation-conflict')
})

// One record of each kind in the state that a person looks at, its list, and the form of its decision.
for (const [list, state, form] of [
  ['workflows', 'status=compensation_stuck', null],
  ['workflows', 'status=blocked', 'compensate'],
  ['outbox', 'status=dead', 'skip'],
  ['inbox', 'status=quarantined', 'run'],
  ['conflicts', '', null],
  ['approvals', '', 'approve'],
  ['incidents', 'status=open', 'close'],
] as const) {
  const name = `${list}${state ? `-${state.split('=')[1]}` : ''}`
  test(`${name}: the list, one of them, and what can be decided @no-js`, async ({ page }) => {
    test.setTimeout(180_000)
    await enter(page, 'approver@acme.test', `/${list}?${state}`)
      await look(page, `${name}-list`)
    await page.locator(`main a.row-link[href^="/${list}/"]`).first().click()
    await expect(page).toHaveURL(new RegExp(`/${list}/[0-9a-f-]{36}`))
      await look(page, name)
    if (!form) return
    await page.goto(`${new URL(page.url()).pathname}/${form}`)
    await expect(page.locator('main form input[name=reason]')).toBeVisible()
      await look(page, `${name}-${form}`)
  })
}

test('leases, and the audit log of an auditor @no-js', async ({ page }) => {
  test.setTimeout(120_000)
  await enter(page, 'auditor@acme.test', '/leases')
  await look(page, 'leases')
  await page.goto('/audit')
  await look(page, 'audit')
})

test('an undo that went wrong, on its own page @no-js', async ({ page }) => {
  await enter(page, 'operator@acme.test', '/?cause=stuck_compensation')
  await page.locator('main a.row-link').first().click()
  const undo = page.locator('main a[href^="/compensations/"]').first()
  const href = await undo.getAttribute('href')
  await page.goto(`${href!.split('/').slice(0, 3).join('/')}`)
  await expect(page.locator('main h1')).toContainText('Undo of')
  await look(page, 'undo')
})

test('kinds and staff, for an administrator @no-js', async ({ page }) => {
  test.setTimeout(120_000)
  await enter(page, 'admin@acme.test', '/admin/kinds')
  await look(page, 'kinds')
  await page.locator('main a.row-link').first().click()
  await expect(page).toHaveURL(/\/admin\/kinds\/[a-z.]+/)
  await look(page, 'kind')
  await page.goto('/admin/staff')
  await look(page, 'staff')
  await page.locator('main a.row-link').first().click()
  await expect(page).toHaveURL(/\/admin\/staff\/[0-9a-f-]{36}/)
  await look(page, 'member')
  await page.goto(`${new URL(page.url()).pathname}/grant`)
  await look(page, 'member-grant')
})

test('tokens, the form of one, and one that is made @no-js', async ({ page }) => {
  test.setTimeout(120_000)
  await enter(page, 'admin@acme.test', '/admin/tokens')
  await look(page, 'tokens')
  await page.locator('main a.row-link').first().click()
  await expect(page).toHaveURL(/\/admin\/tokens\/[0-9a-f-]{36}/)
  await look(page, 'token')
  await page.goto(`${new URL(page.url()).pathname}/revoke`)
  await look(page, 'token-revoke')
  await page.goto('/admin/new-token')
  await look(page, 'token-form')
  await page.goto('/me/new-token')
  await look(page, 'token-form-own')
  await page.goto('/tokens/made')
  await look(page, 'token-not-shown')
})

test('the forms of a file, of masked fields and of a policy @no-js', async ({ page, request }) => {
  test.setTimeout(240_000)
  const payment = await unknownPayment(request, 'forms')
  await enter(page, 'approver@acme.test', `/operations/${payment.id}/evidence`)
  await look(page, 'evidence-form')
  await page.goto(`/operations/${payment.id}/reveal`)
  await look(page, 'reveal-nothing')
  await page.goto('/admin/kinds/invoice.charge/put_kind')
  await look(page, 'policy-form')
  await page.goto('/approvals?waiting=true')
  await look(page, 'approvals-waiting')
})

test('masked fields of events, messages and artifacts have forms of their own @no-js', async ({ page, request }) => {
  test.setTimeout(180_000)
  const customer = { customer_id: fresh('secret customer') }
  const charge = { invoice_id: fresh('E2E-masked'), amount_minor: 100, currency: 'EUR', ...customer }
  const { id: message } = await records.deliver(request, fresh('ord'), charge, 'invoice.charge')
  await enter(page, 'approver@acme.test', `/inbox/${message}/reveal`)
  await expect(page.locator('.reveal-names li').first()).toContainText('customer_id')
  await look(page, 'reveal-message')
  await page.goto('/outbox?status=dead&topic=invoice.paid')
  await page.locator('main a.row-link').first().click()
  await page.getByRole('link', { name: 'Reveal the masked fields' }).click()
  await expect(page.locator('.reveal-names li').first()).toContainText('customer_id')
  await look(page, 'reveal-event')
  const flows = await records.read(request, '/workflows?status=completed&q=summer:rcp-0101')
  await page.goto(`/workflows/${flows.items[0].id}/reveal?step=charge&artifact=response`)
  await expect(page.locator('main h1')).toHaveText('Reveal the masked fields')
  await look(page, 'reveal-artifact')
})

test('search and help @no-js', async ({ page, request, javaScriptEnabled }) => {
  test.setTimeout(180_000)
  const payment = await unknownPayment(request, 'found')
  await enter(page, 'viewer@acme.test', `/search?q=${payment.invoice}`)
  await look(page, 'search')
  await page.goto('/search?q=no+such+thing')
  await look(page, 'search-empty')
  await page.goto('/help')
  await look(page, 'help')
  if (javaScriptEnabled === false) return
  await page.keyboard.press('?')
  await expect(page.getByRole('dialog', { name: 'Keys' })).toBeVisible()
  await look(page, 'keys')
  await page.keyboard.press('Escape')
  await page.keyboard.press('Control+k')
  await expect(page.getByRole('dialog', { name: 'Palette' })).toBeVisible()
  await look(page, 'palette')
})

test('who I am @no-js', async ({ page }) => {
  await enter(page, 'auditor@acme.test', '/me')
  await look(page, 'me')
  await page.goto('/me?refused=unprocessable&field=zone')
  await look(page, 'me-refused')
})

test('a view that is refused comes back with its name @no-js', async ({ page }) => {
  await enter(page, 'operator@acme.test', '/views?refused=unprocessable&field=name&list=operations&name=x')
  await expect(page.locator('.form-errors')).toHaveAttribute('data-code', 'unprocessable')
  await look(page, 'view-refused')
  const name = `Again ${Date.now().toString(36)}`
  await page.getByLabel('Keep this view as').fill(name)
  await page.getByRole('button', { name: 'Keep the view' }).click()
  await expect(page).toHaveURL(/\/operations$/)
  await expect(page.getByRole('link', { name })).toBeVisible()
})

test.describe('what is not there', () => {
  test.use({ tolerated: [/status of 404/] })

  test('an unknown id and another tenant’s are the same page @no-js', async ({ page, request }) => {
    const payment = await unknownPayment(request, 'foreign')
    await enter(page, 'operator@globex.test')
    const texts = []
    for (const id of [payment.id, '01a2287c-c88e-7848-88ac-9331cc799376']) {
      const answer = await page.goto(`/operations/${id}`)
      expect(answer?.status()).toBe(404)
      // Without the line that says since when the page is right: no two share it.
      const words = await page.locator('main').evaluate((main) => {
        const copy = main.cloneNode(true) as HTMLElement
        copy.querySelector('.live')?.remove()
        return copy.textContent ?? ''
      })
      texts.push(words.replaceAll(id, ''))
    }
    expect(texts[0]).toBe(texts[1])
    await look(page, 'not-found')
  })
})

test.describe('what is refused', () => {
  test.use({ tolerated: [/status of 403/] })

  test('a viewer is told which right the audit log takes, and who has it @no-js', async ({ page }) => {
    await enter(page, 'viewer@acme.test')
    const answer = await page.goto('/audit')
    expect(answer!.status()).toBe(403)
    await expect(page.locator('[data-code=permission_missing]').first()).toContainText('Held by')
    await look(page, 'forbidden')
  })
})

test.describe('what did not come', () => {
  test.use({ tolerated: [/status of 500/] })

  test('a part that failed says so in its own place, and the rest of the page lives @no-js', async ({ page }) => {
    const tenant = fresh('broken')
    asOwner(`insert into tenants (slug, name) values ('${tenant}', 'Broken')`)
    const { id, email } = newPerson('failed', { [tenant]: 'viewer' })
    // A set with a verb that this program has never heard of, in a tenant of its own.
    const alone = 'set session_replication_role = replica;'
    const bulk = asOwner(`${alone}
      insert into bulks (tenant_id, verb, target_type, list, status, over_at, frozen_by_id, frozen_by)
      select id, 'unheard', 'operation', 'operations', 'abandoned', onceover_now(), '${id}', 'Pat' from tenants
      where slug = '${tenant}' returning id`)
    await signIn(page, email)
    await page.goto('/bulks')
    const failed = page.locator('main .notice[data-tone=bad]')
    await expect(failed).toHaveCount(1)
    await expect(page.getByRole('heading', { name: 'Bulks' }), 'the rest of the page').toBeVisible()
    await look(page, 'failed-part')
    asOwner(`${alone} update bulks set verb = 'cancel' where id = '${bulk}'`)
    await failed.getByRole('link', { name: 'Try again' }).click()
    await expect(page.locator(`main a[href="/bulks/${bulk}"]`)).toBeVisible()
    await expect(failed).toHaveCount(0)
  })
})
