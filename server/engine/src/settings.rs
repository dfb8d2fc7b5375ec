//! What the engine needs to know from outside.

/// Settings of one process.
#[derive(Clone)]
pub struct Settings {
    /// The database; its user must be a member of `onceover_app` and `onceover_engine`.
    pub database_url: String,
    /// Connections for services and workers.
    pub engine_connections: u32,
    /// Connections for the console, kept apart so that neither starves the other (R16).
    pub console_connections: u32,
    /// Where providers answer, by the name that an operation kind gives.
    pub providers: Vec<ProviderEndpoint>,
    /// Secrets of signed webhooks, by provider name.
    pub webhook_secrets: Vec<(String, String)>,
    /// Key of the hashes under which masked search terms are kept.
    pub search_secret: Vec<u8>,
    /// This process's name as a holder of leases, such as `w-3`.
    pub worker_name: String,
}

/// One resource of a provider.
#[derive(Clone, Debug)]
pub struct ProviderEndpoint {
    /// The name that operation kinds give, such as `payments.charges`.
    pub name: String,
    /// URL that takes the effect by POST and answers lookups by GET.
    pub url: String,
}
