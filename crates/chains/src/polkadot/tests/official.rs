//! Keys of polkadot.js' own tests.

use schnorrkel::{PublicKey, SecretKey};

use super::*;

/// Mini secrets of phrases of BIP-39, and the secrets that polkadot.js expands them to (Ed25519's way, times the cofactor):
/// polkadot-js/common, `packages/util-crypto/src/sr25519/pair/testing.spec.ts`, without those that repeat themselves.
const EXPANDED: [(&str, &str); 15] = [
    (
        "44e9d125f037ac1d51f0a7d3649689d422c2af8b1ec8e00d71db4d7bf6d127e3",
        "b0b3174fe43c15938bb0d0cc5b6f7ac7295f557ee1e6fdeb24fb73f4e0cb2b6ec40ffb9da4af6d411eae8e292750fd105ff70fe93f337b5b590f5a9d9030c750",
    ),
    (
        "4313249608fe8ac10fd5886c92c4579007272cb77c21551ee5b8d60b78041685",
        "20666c9dd63c5b04a6a14377579af14aba60707752d134726304d0804992e26f9092c47fbb9e14c02fd53c702c8a3cfca4735638599da5c4362e0d0560dceb58",
    ),
    (
        "27f3eb595928c60d5bc91a4d747da40ed236328183046892ed6cd5aa9ae38122",
        "709e8254d0a9543c6b35b145dd23349e6369d487a1d10b0cfe09c05ff521f4691ad8bb8221339af38fc48510ec2dfc3104bb94d38f1fa241ceb252943df7b6b5",
    ),
    (
        "227d6256fd4f9ccaf06c45eaa4b2345969640462bbb00c5f51f43cb43418c7a7",
        "88206f4b4102ad30ee40b4b5943c5259db77fd576d95d79eeea00160197e406308821814dea9442675a5d3fa375b3bd65ffe92be43e07dbf6bb4ab84e9d4449d",
    ),
    (
        "cb1d50e14101024a88905a098feb1553d4306d072d7460e167a60ccb3439a681",
        "50dcb74f223740d6a256000a2f1ccdb60044b39ce3aad71a3bd7761848d5f55d5a34f96e0b96ecb45d7a142e07ddfde734f9525f9f88310ab50e347da5789d3e",
    ),
    (
        "9ddecf32ce6bee77f867f3c4bb842d1f0151826a145cb4489598fe71ac29e355",
        "88112947a30e864b511838b6daf6e1e13801ae003d6d9b73eb5892c355f7e37ab3bb71200092d004467b06fe67bc153ee4e2bb7af2f544815b0dde276d2dae75",
    ),
    (
        "8971cb290e7117c64b63379c97ed3b5c6da488841bd9f95cdc2a5651ac89571e",
        "4859cdeda3f957b7ffcd2d59257c30e43996796f38e1be5c6136c9bf3744e047ce9a52c11793c98d0dc8caee927576ce46ef2e5f4b3f1d5e4b1344b2c31ebe8e",
    ),
    (
        "3037276a5d05fcd7edf51869eb841bdde27c574dae01ac8cfb1ea476f6bea6ef",
        "e8962ace15478f69fa42ddd004aad2c285c9f5a02e0712860e83fbec041f89489046aa57b21db2314d93aeb4a2d7cbdab21d4856e8e151894abd17fb04ae65e1",
    ),
    (
        "2c9c6144a06ae5a855453d98c3dea470e2a8ffb78179c2e9eb15208ccca7d831",
        "78667314bf1e52e38d29792cdf294efcaddadc4fa9ce48c5f2bef4daad7ed95d1db960d6f6f895c1a9d2a3ddcc0398ba6578580ea1f03f65ea9a68e97cf3f840",
    ),
    (
        "047e89ef7739cbfe30da0ad32eb1720d8f62441dd4f139b981b8e2d0bd412ed4",
        "e09f4ae0d4e22f6c9bbc4251c880e73d93d10fdf7f152c393ce36e4e942b3155a6f4b48e6c6ebce902a10d4ab46ef59cd154c15aeb8f7fcd4e1e26342d40806d",
    ),
    (
        "f4956be6960bc145cdab782e649a5056598fd07cd3f32ceb73421c3da2783324",
        "b0eb046f48eacb7ad6c4da3ff92bfc29c9ad471bae3e554d5d63e58827160c70c7e5165598761f96b5659ab28c474f50e89ee13c67e30bca40fdcf4335835649",
    ),
    (
        "fbcc5229ade0c0ff018cb7a329c5459f91876e4dde2a97ddf03c832eab7f2612",
        "d8da734285a13967647dd906288e1ac871e1945d0c6b72fa259de4051a9b75431be0c4eb40b1ca38c780f445e3e2809282b9efef4dcc3538355e68094f1e79fa",
    ),
    (
        "7c60c555126c297deddddd59f8cdcdc9e3608944455824dd604897984b5cc369",
        "883b72fa7fb06b6abd0fc2cdb0018b3578e086e93074256bbbb8c68e53c04a56391bc0d19d7b2fa22a8148ccbe191d969c4323faca1935a576cc1b24301f203a",
    ),
    (
        "c12157bf2506526c4bd1b79a056453b071361538e9e2c19c28ba2cfa39b5f230",
        "7039a64150089f8d43188af964c7b8e2b8c9ba20aede085baca5672e978a47576c7193c3e557f37cdeeee5e5131b854e4309efc55259b050474e1f0884a7a621",
    ),
    (
        "938ba18c3f521f19bd4a399c8425b02c716844325b1a65106b9d1593fbafe5e0",
        "c07ba4a979657576f4f7446e3bd2672c87131fa0f472a8bc1f2e9b28c11fb04c66da12cd280662196a5888d8a77178dab8034ed42b11d1654a31db6e1ff4d4c5",
    ),
];

#[test]
fn keys_are_expanded_as_in_the_tests_of_polkadot_js() {
    for (seed, expanded) in EXPANDED {
        let secret = SecretKey::from_ed25519_bytes(&hex::decode(expanded).unwrap()).unwrap();
        let expected = PublicKey::from(secret);
        assert_eq!(Wallet::new(seed).public_key, expected.to_bytes());
    }
}

/// polkadot-js/common, `packages/util-crypto/src/sr25519/pair/fromSeed.spec.ts`.
#[test]
fn the_seed_of_digits_has_the_public_key_of_polkadot_js() {
    let wallet = Wallet::new(&hex::encode(b"12345678901234567890123456789012"));
    assert_eq!(
        hex::encode(wallet.public_key),
        "741c08a06f41c596608f6774259bd9043304adfa5d3eea62760bd9be97634d63"
    );
}
