// A page that may not complain: any console error, page error or refused resource fails the test.
import { type Page, test as base, expect } from '@playwright/test'
import { demo } from './demo'

export { expect }

export const test = base.extend<{ tolerated: RegExp[]; quiet: undefined }>({
  // Chromium reports a page that answers with an error status; tests of such pages name it here.
  tolerated: [[], { option: true }],
  quiet: [
    async ({ page, tolerated, javaScriptEnabled }, use) => {
      const complaints: string[] = []
      page.on('console', (message) => {
        if (message.type() === 'error' || message.type() === 'warning') complaints.push(message.text())
      })
      page.on('pageerror', (error) => complaints.push(String(error)))
      await use(undefined)
      // Without JavaScript what it would have loaded stays unused.
      const expected = javaScriptEnabled ? tolerated : [...tolerated, /was preloaded using link preload/]
      const left = complaints.filter((text) => !expected.some((pattern) => pattern.test(text)))
      expect(left, 'the console stays quiet').toEqual([])
    },
    { auto: true },
  ],
})

export async function signIn(page: Page, email: string, next?: string) {
  await page.goto(next ?? '/')
  await expect(page).toHaveURL(/\/sign-in/)
  await page.getByLabel('Email').fill(email)
  await page.getByLabel('Password').fill(demo.password)
  await page.getByRole('button', { name: 'Sign in' }).click()
  await expect(page).not.toHaveURL(/\/sign-in/)
}

/** Waits until the page has come to life, where it can. */
export async function alive(page: Page) {
  await page.waitForLoadState('networkidle')
}
