//! A NATS server of the run's own, with one stream on disk.

use async_nats::jetstream::{self, stream};
use testkit::NatsServer;

use crate::fault::Fault;

const STREAM: &str = "events";

/// A broker that takes every event of the engine.
pub struct Broker {
    server: NatsServer,
    client: async_nats::Client,
}

impl Broker {
    /// Starts it.
    pub async fn start() -> Result<Self, Fault> {
        let server = NatsServer::start().await;
        let client = async_nats::connect(server.url()).await.map_err(said)?;
        let config = stream::Config {
            name: STREAM.into(),
            subjects: vec!["operation.>".into()],
            ..stream::Config::default()
        };
        jetstream::new(client.clone()).create_stream(config).await.map_err(said)?;
        Ok(Self { server, client })
    }

    /// Its address.
    pub fn url(&self) -> String {
        self.server.url()
    }

    /// Its version.
    pub fn version(&self) -> String {
        self.client.server_info().version
    }

    /// How many events its stream holds.
    pub async fn stored(&self) -> Result<u64, Fault> {
        let stream = jetstream::new(self.client.clone()).get_stream(STREAM).await.map_err(said)?;
        Ok(stream.get_info().await.map_err(said)?.state.messages)
    }
}

fn said(error: impl std::fmt::Display) -> Fault {
    Fault::Said(format!("the broker failed: {error}"))
}
