//! One connection, from its first byte to its last: TLS where there is a certificate, then HTTP/1.1.

use std::{convert::Infallible, future::Future, net::SocketAddr, time::Duration};

use axum::{
    Router,
    body::Body,
    http::{HeaderValue, Request, Response, header},
};
use hyper::{body::Incoming, server::conn::http1, service::service_fn};
use hyper_util::rt::TokioIo;
use tokio::{
    io::{AsyncRead, AsyncWrite},
    net::TcpStream,
    sync::watch,
    time,
};
use tower::ServiceExt as _;

use super::{
    Bounds, Certificate,
    activity::{Activity, Answer, Overdue},
    pace::Paced,
};
use crate::{security::client::Peer, shutdown::stopped};

/// How long a connection stays open after the stop though it rests: what is already on its way to
/// it is answered, and the answer says that it is the last.
const LINGER: Duration = Duration::from_secs(1);

/// How connections of a listener are served.
#[derive(Clone)]
pub(super) struct Way {
    pub(super) router: Router,
    pub(super) bounds: Bounds,
    pub(super) certificate: Option<Certificate>,
    pub(super) stop: watch::Receiver<bool>,
}

impl Way {
    pub(super) async fn serve(self, stream: TcpStream, peer: SocketAddr) {
        let _ = stream.set_nodelay(true);
        let activity = Activity::begin();
        let Some(certificate) = self.certificate.clone() else {
            return self.http(stream, peer, activity).await;
        };
        let secured = tokio::select! {
            secured = certificate.accept(stream) => secured,
            _ = activity.overdue(&self.bounds) => return,
        };
        match secured {
            Ok(stream) => self.http(stream, peer, activity).await,
            Err(error) => tracing::debug!(%peer, %error, "no TLS"),
        }
    }

    async fn http<S>(mut self, stream: S, peer: SocketAddr, activity: Activity)
    where
        S: AsyncRead + AsyncWrite + Unpin,
    {
        let service = service_fn({
            let (router, activity, stop) =
                (self.router.clone(), activity.clone(), self.stop.clone());
            move |request| answer(router.clone(), &activity, stop.clone(), peer, request)
        });
        let paced = Paced { stream, activity: activity.clone() };
        let connection = http1::Builder::new()
            // It would close what rests between two requests; the clock above tells them apart.
            .header_read_timeout(None)
            .max_header_size(self.bounds.header_bytes)
            .serve_connection(TokioIo::new(paced), service);
        tokio::pin!(connection);
        let mut ending = false;
        loop {
            let told = async {
                stopped(&mut self.stop).await;
                time::sleep(LINGER).await;
            };
            tokio::select! {
                // A client that hangs up or sends no HTTP is no fault of ours.
                _ = &mut connection => return,
                () = told, if !ending => {
                    ending = true;
                    connection.as_mut().graceful_shutdown();
                }
                why = activity.overdue(&self.bounds) => {
                    if why == Overdue::Slow || ending {
                        return;
                    }
                    ending = true;
                    connection.as_mut().graceful_shutdown();
                }
            }
        }
    }
}

fn answer(
    router: Router,
    activity: &Activity,
    stop: watch::Receiver<bool>,
    peer: SocketAddr,
    request: Request<Incoming>,
) -> impl Future<Output = Result<Response<Answer>, Infallible>> + use<> {
    let answering = activity.answering();
    let mut request = request.map(Body::new);
    request.extensions_mut().insert(Peer(peer));
    async move {
        let mut response = router.oneshot(request).await?;
        if *stop.borrow() {
            response.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
        }
        Ok(response.map(|body| Answer { body, _answering: answering }))
    }
}
