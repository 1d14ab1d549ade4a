//! `#[port]`: async methods in a trait that is used as a trait object.
//!
//! It does the same as the crate `async-trait`, with two differences that make the store compile several times as fast (rustc 1.95,
//! PR-111):
//!
//! - All references in a method share **one** lifetime, instead of having one each.
//! - No `where` clause is generated if the receiver is a reference. With such clauses in scope, the compiler proves every bound of the
//!   types inside again for each method, and diesel's types have many.
//!
//! ```ignore
//! #[port]
//! trait Users: Send {
//!     async fn profile(&mut self, world: &World, id: UserId) -> StoreResult<Option<UserProfile>>;
//! }
//! ```
//!
//! becomes
//!
//! ```ignore
//! trait Users: Send {
//!     fn profile<'port>(&'port mut self, world: &'port World, id: UserId)
//!         -> Pin<Box<dyn Future<Output = StoreResult<Option<UserProfile>>> + Send + 'port>>;
//! }
//! ```
//!
//! Lifetime parameters on methods and futures that are not `Send` are deliberately unsupported, because no port needs them.

mod lifetimes;

use proc_macro::TokenStream;
use quote::ToTokens;
use syn::parse::{Parse, ParseStream};
use syn::{
    Block, Error, FnArg, ImplItem, ItemImpl, ItemTrait, ReturnType, Signature, TraitItem, Type,
    parse_macro_input, parse_quote,
};

/// Turns the `async fn`s of a trait, or of an `impl` of one, into functions that return a boxed `Send` future. Apply it to the trait and to
/// each `impl` of it.
#[proc_macro_attribute]
pub fn port(arguments: TokenStream, item: TokenStream) -> TokenStream {
    syn::parse_macro_input!(arguments as syn::parse::Nothing);
    let mut item = parse_macro_input!(item as Item);
    match item.box_futures() {
        Ok(()) => item.into_token_stream().into(),
        Err(error) => error.into_compile_error().into(),
    }
}

/// The items that the attribute can be applied to.
enum Item {
    Trait(ItemTrait),
    Impl(ItemImpl),
}

impl Parse for Item {
    fn parse(input: ParseStream<'_>) -> syn::Result<Self> {
        // The item may start with attributes and `pub`, so try to parse it as an `impl` before parsing it as a trait.
        if input.fork().parse::<ItemImpl>().is_ok() {
            input.parse().map(Self::Impl)
        } else {
            input.parse().map(Self::Trait)
        }
    }
}

impl ToTokens for Item {
    fn to_tokens(&self, tokens: &mut proc_macro2::TokenStream) {
        match self {
            Self::Trait(item) => item.to_tokens(tokens),
            Self::Impl(item) => item.to_tokens(tokens),
        }
    }
}

impl Item {
    fn box_futures(&mut self) -> syn::Result<()> {
        match self {
            Self::Trait(item) => {
                for member in &mut item.items {
                    if let TraitItem::Fn(method) = member {
                        box_future(&mut method.sig, method.default.as_mut())?;
                    }
                }
            }
            Self::Impl(item) => {
                if item.trait_.is_none() {
                    let message = "`#[port]` can only be applied to a trait or an `impl` of one";
                    return Err(Error::new_spanned(&item.self_ty, message));
                }
                for member in &mut item.items {
                    if let ImplItem::Fn(method) = member {
                        box_future(&mut method.sig, Some(&mut method.block))?;
                    }
                }
            }
        }
        Ok(())
    }
}

/// Rewrites one method. Methods that are not async stay unchanged.
fn box_future(signature: &mut Signature, body: Option<&mut Block>) -> syn::Result<()> {
    if signature.asyncness.take().is_none() {
        return Ok(());
    }
    if let Some(named) = signature.generics.lifetimes().next() {
        let message = "the references in a port's method share one implicit lifetime; remove the explicit one";
        return Err(Error::new_spanned(named, message));
    }
    for argument in &mut signature.inputs {
        lifetimes::share_in_argument(argument);
    }
    let output: Type = match &signature.output {
        ReturnType::Default => parse_quote!(()),
        ReturnType::Type(_, output) => lifetimes::shared((**output).clone()),
    };
    signature.generics.params.insert(0, parse_quote!('port));
    if let Some(FnArg::Receiver(receiver)) = signature.inputs.first()
        && receiver.reference.is_none()
    {
        let bounds = signature.generics.make_where_clause();
        bounds.predicates.push(parse_quote!(Self: 'port));
    }
    signature.output = parse_quote! {
        -> ::core::pin::Pin<::std::boxed::Box<
            dyn ::core::future::Future<Output = #output> + ::core::marker::Send + 'port
        >>
    };
    if let Some(body) = body {
        let statements = &body.stmts;
        // The branch is never taken. It tells the compiler the return type before the body, so that a `?` or `return Err(cause.into())` in
        // the first line is inferred.
        *body = parse_quote! {{
            ::std::boxed::Box::pin(async move {
                if let ::core::option::Option::Some(never) = ::core::option::Option::None::<#output> {
                    return never;
                }
                #[allow(clippy::diverging_sub_expression, reason = "a body may only panic, in a test")]
                let answer: #output = { #(#statements)* };
                #[allow(unreachable_code, reason = "a body may return explicitly in every branch")]
                answer
            })
        }};
    }
    Ok(())
}
