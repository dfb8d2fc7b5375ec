// What takes two people, from asking to the end: taken back, refused, approved; and what one person grows,
// shrinks and closes alone. With scripts and without.
import { fresh, newPerson, operation } from './demo'
import { elsewhere, enter, expect, test } from './fixtures'
import { approve, asked, receipt, send, toForm } from './forms'
import { look } from './look'
import * as records from './records'

test('a refund is taken back, asked for again, rejected, and asked for and approved: it is made once @no-js', async ({
  page,
  request,
  browser,
}) => {
  test.setTimeout(180_000)
  const { id, invoice } = await records.charged(request, 'refund')
  const place = `/operations/${id}`
  await enter(page, 'operator@acme.test', place)
  const ask = async (reason: string, name?: string) => {
    await toForm(page, place, 'compensate')
    await expect(page.locator('main .plan')).toContainText('would be undone by invoice.refund')
    if (name) await look(page, name)
    await send(page, reason)
    return asked(page)
  }
  const standing = async (approval: string) => (await records.read(request, approval)).status
  const none = async () => expect(await records.refunds(request, invoice), 'no money went back').toHaveLength(0)

  const first = await ask('The customer cancelled.', 'form-operations-compensate')
  await toForm(page, first, 'withdraw')
  await look(page, 'form-approvals-withdraw')
  await send(page, 'The customer thought again.')
  await receipt(page, 'Decided: withdraw')
  expect(await standing(first)).toBe('withdrawn')
  await none()

  const second = await ask('The customer cancelled after all.')
  await elsewhere(browser, 'approver@acme.test', second, async (other) => {
    await toForm(other, second, 'reject')
    await look(other, 'form-approvals-reject')
    await send(other, 'The month is over.')
    await receipt(other, 'Decided: reject')
  })
  expect(await standing(second)).toBe('rejected')
  await none()

  await approve(browser, await ask('The month was not over.'), 'Undo asked for')
  const reading = () => operation(request, id)
  await records.until(reading, (now) => records.undoOf(now)?.status === 'compensated', 'its undo happened')
  expect(await records.refunds(request, invoice), 'one undo, one refund').toHaveLength(1)
  expect((await reading()).status, 'what happened stays on record').toBe('succeeded')
})

test('an incident takes a record more, gives one back, and is closed with a reason @no-js', async ({ page, request }) => {
  test.setTimeout(120_000)
  const [one, other] = [await records.preview(request), await records.preview(request)]
  const { version } = await operation(request, other.id)
  const id = await records.incident(request, fresh('Two drafts of one letter'), [one.id])
  const held = async () =>
    (await records.read(request, `/incidents/${id}`)).records.map((record: { id: string }) => record.id).sort()

  await enter(page, 'operator@acme.test', `/operations/${other.id}`)
  await page.getByRole('link', { name: 'Add to an incident' }).click()
  await page.locator(`input[name=incident][value^="${id}@"]`).check()
  await send(page, 'It is the same letter.')
  await receipt(page, 'Decided: add')
  expect(await held()).toEqual([one.id, other.id].sort())

  const place = `/incidents/${id}`
  await toForm(page, place, 'remove')
  await look(page, 'form-incidents-remove')
  await page.locator(`input[name=records][value="operation/${one.id}"]`).check()
  await send(page, 'It is another letter.')
  await receipt(page, 'Decided: remove')
  expect(await held()).toEqual([other.id])

  await toForm(page, place, 'close')
  await send(page, 'Both were read.')
  await receipt(page, 'Decided: close')
  expect((await records.read(request, place)).status).toBe('closed')
  expect((await operation(request, other.id)).version, 'no record moved').toBe(version)
})

test('whoever looks at it says so, and gives it back @no-js', async ({ page, request }) => {
  const draft = await records.preview(request)
  const { version } = await operation(request, draft.id)
  await enter(page, 'operator@acme.test', `/operations/${draft.id}`)
  await page.getByRole('button', { name: 'Take it' }).click()
  await expect(page).toHaveURL(/#notes$/)
  await expect(page.getByText('Olga Operator has taken it.').first()).toBeVisible()
  const after = await operation(request, draft.id)
  expect([after.taken_by, after.version], 'it moves no version').toEqual(['Olga Operator', version])
  await page.getByRole('button', { name: 'Give it back' }).click()
  await expect(page.getByText('Nobody has taken it.')).toBeVisible()
  expect((await operation(request, draft.id)).taken_by).toBeNull()
})

test('a kind is added by one person, and loosened by two @no-js', async ({ page, request, browser }) => {
  test.setTimeout(120_000)
  const name = fresh('e2e.parcel')
  const policy = () => records.read(request, `/kinds/${name}`, 'admin@acme.test')
  await enter(page, 'admin@acme.test', '/admin/kinds')
  await page.locator('main a[href="/admin/new-kind"]').first().click()
  await look(page, 'kind-new')
  await page.locator('#name').fill(name)
  await page.locator('#masked_pointers').fill('/receiver')
  await page.getByRole('button', { name: 'Look at what would change' }).click()
  await page.locator('input[name=reason]').fill('Parcels are sent from now on.')
  await page.getByRole('button', { name: 'Add the kind' }).click()
  await receipt(page, 'Decided: put kind')
  expect((await policy()).policy.masked_pointers).toEqual(['/receiver'])

  await page.goto(`/admin/kinds/${name}`)
  await page.getByRole('link', { name: 'Change the policy' }).click()
  await page.locator('#masked_pointers').fill('')
  await page.getByRole('button', { name: 'Look at what would change' }).click()
  await page.locator('input[name=reason]').fill('The receiver is on the parcel anyway.')
  await page.getByRole('button', { name: 'Ask for a second person' }).click()
  const waiting = await asked(page)
  await expect(page.getByText('Masked fields would be shown.').first()).toBeVisible()
  expect((await policy()).policy.masked_pointers, 'nothing before').toEqual(['/receiver'])
  await approve(browser, waiting, 'Decided: put kind')
  expect((await policy()).policy.masked_pointers).toEqual([])
})

test('another role holds at once, and one that approves takes two people @no-js', async ({ page, request, browser }) => {
  test.setTimeout(120_000)
  const person = newPerson('granted', { acme: 'viewer' })
  const role = async () => {
    const { items } = await records.read(request, '/staff', 'admin@acme.test')
    return items.find(({ id }: { id: string }) => id === person.id).role
  }
  const place = `/admin/staff/${person.id}`
  const give = async (role: string) => {
    await toForm(page, place, 'grant')
    await page.locator(`input[name=role][value=${role}]`).check()
    await send(page, `From today on ${role}.`)
  }
  await enter(page, 'admin@acme.test', place)
  await give('operator')
  await receipt(page, 'Decided: grant')
  expect(await role()).toBe('operator')
  await give('approver')
  const waiting = await asked(page)
  expect(await role(), 'nothing before').toBe('operator')
  await approve(browser, waiting, 'Decided: grant')
  expect(await role()).toBe('approver')
})
