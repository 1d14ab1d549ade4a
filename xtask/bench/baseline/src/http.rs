//! The two handlers.

use actix_web::web::{Data, Path};
use actix_web::{App, HttpResponse, HttpServer, web};
use tokio::runtime::Handle;

use crate::select::Source;
use crate::{CORES, Failure, runtime};

/// Serves until it is stopped; the first line it prints is its URL.
pub(crate) fn run(database_url: &str) -> Result<(), Failure> {
    // As in the service: handlers on actix's workers, queries on a separate runtime.
    let queries = runtime()?;
    let source = queries.block_on(Source::open(database_url))?;
    let shared = Data::new((queries.handle().clone(), source));
    actix_web::rt::System::new().block_on(async move {
        let server = HttpServer::new(move || {
            App::new()
                .app_data(shared.clone())
                .route("/empty", web::get().to(empty))
                .route("/select/{user_id}", web::get().to(select))
        })
        .workers(CORES)
        .bind(("127.0.0.1", 0))?;
        for address in server.addrs() {
            println!("http://{address}");
        }
        server.run().await
    })?;
    Ok(())
}

async fn empty() -> HttpResponse {
    HttpResponse::Ok().finish()
}

/// The user id is in the path, as in the service's own calls, so the load can draw from as many.
async fn select(shared: Data<(Handle, Source)>, user_id: Path<String>) -> HttpResponse {
    let (queries, source) = shared.get_ref().clone();
    let row = queries
        .spawn(async move { source.read(&user_id).await })
        .await;
    match row {
        Ok(Ok((name, metadata, created_at))) => {
            HttpResponse::Ok().body(format!("{name}{metadata}{created_at}"))
        }
        Ok(Err(failure)) => HttpResponse::InternalServerError().body(failure.to_string()),
        Err(panic) => HttpResponse::InternalServerError().body(panic.to_string()),
    }
}
