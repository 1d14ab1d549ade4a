//! Gives all references without an explicit lifetime in a signature the same one, `'port`.

use syn::visit_mut::{self, VisitMut};
use syn::{
    FnArg, Lifetime, ParenthesizedGenericArguments, Type, TypeBareFn, TypeReference, parse_quote,
};

/// Names the lifetimes of an argument, including the receiver.
pub(crate) fn share_in_argument(argument: &mut FnArg) {
    match argument {
        FnArg::Receiver(receiver) => {
            if let Some((_, lifetime @ None)) = &mut receiver.reference {
                *lifetime = Some(parse_quote!('port));
            }
            Share.visit_type_mut(&mut receiver.ty);
        }
        FnArg::Typed(argument) => Share.visit_type_mut(&mut argument.ty),
    }
}

/// The type with its lifetimes named.
pub(crate) fn shared(mut written: Type) -> Type {
    Share.visit_type_mut(&mut written);
    written
}

struct Share;

impl VisitMut for Share {
    fn visit_type_reference_mut(&mut self, reference: &mut TypeReference) {
        reference
            .lifetime
            .get_or_insert_with(|| parse_quote!('port));
        visit_mut::visit_type_reference_mut(self, reference);
    }

    fn visit_lifetime_mut(&mut self, lifetime: &mut Lifetime) {
        if lifetime.ident == "_" {
            *lifetime = parse_quote!('port);
        }
    }

    // Elided lifetimes inside `fn(&T)` and `Fn(&T)` are higher-ranked and must stay so.
    fn visit_type_bare_fn_mut(&mut self, _: &mut TypeBareFn) {}
    fn visit_parenthesized_generic_arguments_mut(&mut self, _: &mut ParenthesizedGenericArguments) {
    }
}
