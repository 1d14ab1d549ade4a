//! The store suites of `vestry-contract`.

use std::sync::Arc;

use vestry_ports::limiter::RateLimiter;
use vestry_ports::store::Store;

use crate::places::{self, Place};

mod sqlite {
    use super::*;

    async fn build() -> Option<(Arc<dyn Store>, Place)> {
        places::store(places::migrated_sqlite().await).await
    }

    vestry_contract::store_suite!(build);
}

mod postgres {
    use super::*;

    async fn build() -> Option<(Arc<dyn Store>, Place)> {
        places::store(places::migrated_postgres().await).await
    }

    vestry_contract::store_suite!(build);
}

async fn limiter(place: Option<Place>) -> Option<(Arc<dyn RateLimiter>, Place)> {
    let place = place?;
    let limiter: Arc<dyn RateLimiter> = Arc::new(place.connect().await.rate_limiter());
    Some((limiter, place))
}

mod limiter_on_sqlite {
    use super::*;

    async fn build() -> Option<(Arc<dyn RateLimiter>, Place)> {
        limiter(places::migrated_sqlite().await).await
    }

    vestry_contract::limiter_suite!(build);
    vestry_contract::limiter_clock_suite!(build);
}

mod limiter_on_postgres {
    use super::*;

    async fn build() -> Option<(Arc<dyn RateLimiter>, Place)> {
        limiter(places::migrated_postgres().await).await
    }

    vestry_contract::limiter_suite!(build);
    vestry_contract::limiter_clock_suite!(build);
}
