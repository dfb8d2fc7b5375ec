// The way of every decision in a browser: from the record’s page to the form of a verb, and from there to
// the receipt, or to the request that waits for a second person.
import type { APIRequestContext, Browser, Page } from '@playwright/test'
import { effectOf } from './demo'
import { elsewhere, expect } from './fixtures'

/** Goes from a record’s page to the form of a verb, as a person does. */
export async function toForm(page: Page, record: string, verb: string) {
  if (new URL(page.url()).pathname !== record) await page.goto(record)
  const link = page.locator(`main a[href^="${record}/${verb}?"]`).first()
  await expect(link, `${verb} is offered`).toBeAttached()
  if (!(await link.isVisible())) await page.locator('.detail-actions summary').click()
  await link.click()
  await expect(page).toHaveURL(new RegExp(`${record}/${verb}\\?`))
}

/** Gives the reason and sends the form. */
export async function send(page: Page, reason: string) {
  await page.locator('main form input[name=reason]').fill(reason)
  await page.locator('main form button.button--primary').last().click()
}

/** The page is the receipt of what was decided. */
export async function receipt(page: Page, words: string) {
  await expect(page).toHaveURL(/\/receipts\/[0-9a-f-]{36}/)
  await expect(page.locator('.receipt-title')).toHaveText(words)
}

/** The page says that a second person is asked; the request’s own page. */
export async function asked(page: Page): Promise<string> {
  await expect(page).toHaveURL(/\/operations\/[0-9a-f-]{36}#approvals$|\/approvals\/[0-9a-f-]{36}$/)
  const own = new URL(page.url()).pathname
  if (own.startsWith('/approvals/')) return own
  return (await page.locator('#approvals a[href^="/approvals/"]').first().getAttribute('href'))!
}

/** A second person approves a request at another desk. */
export const approve = (browser: Browser, place: string, words: string) =>
  elsewhere(browser, 'approver@acme.test', place, async (page) => {
    await toForm(page, place, 'approve')
    await send(page, 'Seen on the provider’s own page.')
    await receipt(page, words)
    await expect(page.getByText('Approved by').first()).toBeVisible()
  })

/** Fills the form that says of a payment that it happened. */
export async function itHappened(page: Page, request: APIRequestContext, invoice: string) {
  await page.locator('input[name=outcome][value=happened]').check()
  await page.locator('input[name=external_reference]').fill((await effectOf(request, invoice)).id)
}
