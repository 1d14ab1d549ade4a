use actix_web::http::StatusCode;
use actix_web::middleware::from_fn;
use actix_web::{App, HttpResponse, test, web};

use super::*;
use crate::problem::Code;

async fn response(path: &str) -> ServiceResponse {
    let panics = web::get().to(|name: web::Path<String>| async move {
        assert_ne!(name.as_str(), "panics", "canary");
        HttpResponse::Ok().finish()
    });
    let resource = web::resource("/{name}")
        .route(panics)
        .wrap(from_fn(catch_panic));
    let app = test::init_service(App::new().service(resource)).await;
    test::call_service(&app, test::TestRequest::get().uri(path).to_request()).await
}

/// S7: a handler's panic becomes an error response that contains nothing of the panic message.
#[actix_web::test]
async fn s7_a_panic_of_a_handler_is_an_internal_error() {
    let response = response("/panics").await;
    assert_eq!(response.status(), StatusCode::INTERNAL_SERVER_ERROR);
    let error = response.response().error().unwrap();
    let problem: &Problem = error.as_error().unwrap();
    assert_eq!(problem.code, Code::Internal);
    assert!(problem.closes);
    let body = serde_json::to_string(&problem.body("id")).unwrap();
    assert!(
        !format!("{body} {problem:?}").contains("canary"),
        "{body} {problem:?}"
    );
}

#[actix_web::test]
async fn normal_responses_pass_unchanged() {
    assert_eq!(response("/works").await.status(), StatusCode::OK);
}
