// Browser tests run against a started server; ci/browser.sh gives its address.
import { existsSync } from 'node:fs'
import { defineConfig, devices } from '@playwright/test'

const baseURL = process.env.ONCEOVER_E2E_URL
if (!baseURL) throw new Error('ONCEOVER_E2E_URL is not set; run ci/browser.sh, or name a running demo')

// A browser of the machine where there is one, else the one Playwright fetched.
const executablePath = [process.env.ONCEOVER_CHROMIUM, '/usr/bin/chromium'].find((path) => path && existsSync(path))

// Quiet: no look-ups of its own while a test runs. Root cannot use the sandbox.
const args = [
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-gpu',
  '--disable-quic',
  '--disable-sync',
  '--no-first-run',
  ...(process.getuid?.() === 0 ? ['--no-sandbox'] : []),
]

export default defineConfig({
  testDir: './tests',
  outputDir: './artefacts/results',
  fullyParallel: true,
  workers: 2,
  retries: 0,
  forbidOnly: true,
  timeout: 60_000,
  expect: { timeout: 10_000 },
  reporter: [['list'], ['html', { outputFolder: './artefacts/report', open: 'never' }], ['./tests/every-page.ts']],
  use: {
    ...devices['Desktop Chrome'],
    baseURL,
    locale: 'en-GB',
    timezoneId: 'UTC',
    trace: 'retain-on-failure',
    screenshot: 'only-on-failure',
    actionTimeout: 10_000,
    navigationTimeout: 20_000,
    launchOptions: { executablePath, args },
  },
  // Tests tagged @no-js run with JavaScript switched off too; @no-js-only nowhere else.
  projects: [
    { name: 'js', grepInvert: /@no-js-only/ },
    { name: 'no-js', grep: /@no-js/, use: { javaScriptEnabled: false } },
  ],
})
