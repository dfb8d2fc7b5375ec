// A certified OpenID provider for the test of single sign-on: anybody's name and any password is good.
//
//   node provider.mjs REDIRECT_URI
//
// Issuer and client stand in the environment, as the console reads them. Prints "ready".
import Provider from 'oidc-provider'

const issuer = process.env.ONCEOVER_OIDC_ISSUER
const provider = new Provider(issuer, {
  clients: [
    {
      client_id: process.env.ONCEOVER_OIDC_CLIENT_ID,
      client_secret: process.env.ONCEOVER_OIDC_CLIENT_SECRET,
      redirect_uris: [process.argv[2]],
    },
  ],
  claims: { email: ['email', 'email_verified'], profile: ['name'], groups: ['groups'] },
  pkce: { required: () => true },
  findAccount: (_, id) => ({
    accountId: id,
    claims: () => ({ sub: id, email: `${id}@corp.example`, email_verified: true, name: id, groups: ['payments'] }),
  }),
})
provider.listen(Number(new URL(issuer).port), '127.0.0.1', () => console.log('ready'))
