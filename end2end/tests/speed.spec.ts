// Speed of hand: one search, keys, the palette, links to a place; and all of it without scripts.
import type { Page } from '@playwright/test'
import { unknownPayment } from './demo'
import { alive, expect, signIn, test } from './fixtures'

async function ready(page: Page) {
  await alive(page)
  await expect(page.locator('.search-key'), 'the keys are offered once they work').toBeVisible()
}

test('one search finds an invoice, says how it read it, and an id leads straight there @no-js', async ({
  page,
  request,
}, info) => {
  const payment = await unknownPayment(request, `search-${info.project.name}`)
  await signIn(page, 'viewer@acme.test')
  await page.getByRole('searchbox').fill(payment.invoice)
  await page.getByRole('searchbox').press('Enter')
  await expect(page).toHaveURL(/\/search\?q=/)
  await expect(page.getByText('Exactly or by its beginning')).toBeVisible()
  await expect(page.getByRole('searchbox')).toHaveValue(payment.invoice)
  await page.locator(`main a[href="/operations/${payment.id}"]`).first().click()
  await expect(page).toHaveURL(new RegExp(`/operations/${payment.id}$`))

  await page.getByRole('searchbox').fill(payment.id)
  await page.getByRole('searchbox').press('Enter')
  await expect(page).toHaveURL(new RegExp(`/operations/${payment.id}$`))
  await page.getByRole('searchbox').fill('129,00 EUR')
  await page.getByRole('searchbox').press('Enter')
  await expect(page.getByText('as the amount 129.00 EUR')).toBeVisible()
  await page.getByRole('searchbox').fill('x')
  await page.getByRole('searchbox').press('Enter')
  await expect(page.getByText('Nothing was searched.')).toBeVisible()
})

test('g and a letter go to a page, never while somebody types', async ({ page }) => {
  await signIn(page, 'viewer@acme.test')
  for (const [letter, place] of [
    ['o', /\/operations$/],
    ['w', /\/workflows$/],
    ['x', /\/outbox$/],
    ['i', /\/inbox$/],
    ['c', /\/conflicts$/],
    ['l', /\/leases$/],
    ['a', /\/approvals$/],
    ['n', /\/incidents$/],
    ['h', /\/$/],
  ] as const) {
    await ready(page)
    await page.keyboard.press('g')
    await page.keyboard.press(letter)
    await expect(page).toHaveURL(place)
  }
  await ready(page)
  await page.keyboard.press('/')
  await page.keyboard.type('go jkx?')
  await expect(page.getByRole('searchbox')).toHaveValue('go jkx?')
  await expect(page.locator('dialog[open]')).toHaveCount(0)
  await expect(page).toHaveURL(/\/$/)
})

test('j and k walk the rows, Enter opens one, and the focus is seen', async ({ page }) => {
  await signIn(page, 'viewer@acme.test', '/operations')
  await ready(page)
  const links = page.locator('main tr.row .row-link')
  await page.keyboard.press('j')
  await expect(links.nth(0)).toBeFocused()
  await page.keyboard.press('j')
  await page.keyboard.press('j')
  await expect(links.nth(2)).toBeFocused()
  await page.keyboard.press('k')
  await expect(links.nth(1)).toBeFocused()
  const href = await links.nth(1).getAttribute('href')
  await page.keyboard.press('Enter')
  await expect(page).toHaveURL(new RegExp(`${href}$`))
})

test('x picks the row that has the focus, and lets it go again', async ({ page }) => {
  await signIn(page, 'operator@acme.test', '/operations')
  await ready(page)
  const picked = page.locator('main tr.row input[name=record]:checked')
  await page.keyboard.press('j')
  await page.keyboard.press('j')
  await expect(picked).toHaveCount(0)
  await page.keyboard.press('x')
  await expect(page.locator('main tr.row').nth(1).getByRole('checkbox')).toBeChecked()
  await expect(picked).toHaveCount(1)
  await page.keyboard.press('x')
  await expect(picked).toHaveCount(0)
})

test('the sheet opens with ?, lists what the help page lists, and gives the focus back', async ({ page }) => {
  await signIn(page, 'viewer@acme.test', '/operations')
  await ready(page)
  await page.keyboard.press('j')
  await page.keyboard.press('?')
  const sheet = page.getByRole('dialog', { name: 'Keys' })
  await expect(sheet).toBeVisible()
  const listed = await sheet.locator('.keys').innerText()
  await page.keyboard.press('j')
  await page.keyboard.press('Escape')
  await expect(sheet).toBeHidden()
  await expect(page.locator('main tr.row .row-link').first(), 'where it was').toBeFocused()
  await page.goto('/help')
  expect(await page.locator('main .keys').innerText()).toBe(listed)
})

test('the palette goes to pages, to the actions of a record, and searches', async ({ page, request }) => {
  const payment = await unknownPayment(request, 'palette')
  await signIn(page, 'operator@acme.test', `/operations/${payment.id}`)
  await ready(page)
  const palette = page.getByRole('dialog', { name: 'Palette' })
  await page.keyboard.press('Control+k')
  await expect(palette.getByRole('combobox')).toBeFocused()
  await page.keyboard.type('confirm')
  await expect(palette.getByRole('option').first()).toContainText(/confirm/i)
  await page.keyboard.press('Enter')
  await expect(page).toHaveURL(new RegExp(`/operations/${payment.id}/confirm`))

  await ready(page)
  await page.keyboard.press('Control+k')
  await page.keyboard.type('outb')
  await page.keyboard.press('Enter')
  await expect(page).toHaveURL(/\/outbox$/)

  await ready(page)
  await page.keyboard.press('Control+k')
  await page.keyboard.type(payment.invoice)
  await page.keyboard.press('ArrowDown')
  await expect(palette.getByRole('option', { selected: true })).toContainText('Search for')
  await page.keyboard.press('Enter')
  await expect(page).toHaveURL(/\/search\?q=/)
  await expect(page.locator(`main a[href="/operations/${payment.id}"]`).first()).toBeVisible()

  await ready(page)
  await page.keyboard.press('Control+k')
  await page.keyboard.press('Escape')
  await expect(palette).toBeHidden()
})

test('single keys can be switched off; the palette stays @no-js', async ({ page, javaScriptEnabled }) => {
  await signIn(page, 'viewer@acme.test', '/help')
  await page.getByRole('button', { name: 'Switch single keys off' }).click()
  await expect(page.getByRole('button', { name: 'Switch single keys on' })).toBeVisible()
  if (javaScriptEnabled === false) return
  await page.goto('/operations')
  await alive(page)
  await page.keyboard.press('Control+k')
  await expect(page.getByRole('dialog', { name: 'Palette' })).toBeVisible()
  await page.keyboard.press('Escape')
  await page.keyboard.press('?')
  await page.keyboard.press('g')
  await page.keyboard.press('w')
  await expect(page.locator('dialog[open]')).toHaveCount(0)
  await expect(page).toHaveURL(/\/operations$/)
})

test('a part and an event of a page have links of their own @no-js', async ({ page, request }, info) => {
  const payment = await unknownPayment(request, `links-${info.project.name}`)
  await signIn(page, 'viewer@acme.test', `/operations/${payment.id}`)
  await page.getByRole('link', { name: 'Payload', exact: true }).click()
  await expect(page).toHaveURL(/#payload$/)
  await page.locator('.timeline-at').first().click()
  await expect(page).toHaveURL(/#e\d+$/)
})
