//! `cargo xtask image`: a container image, made without a daemon or a registry.

mod archive;
mod packages;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};

use crate::arguments::Arguments;
use crate::digest::sha256;
use crate::failure::{Context, Failure};
use crate::{process, project};

pub(crate) use archive::Archive;
pub(crate) use packages::{Package, Packages};

pub(crate) const ABOUT: &str = "\
Make a container image of a binary, without a container daemon or registry.

Writes an OCI layout of two layers: the libraries that the binary names and the certificates of authorities, from Debian packages that
`apt-get download` fetches; and the binary. It contains no shell and no package manager, and runs as 65532. The same binary and
packages give the same digest. Needs Debian, and `apt-get update` from time to time.

  cargo xtask image target/release-artifacts/vestry
  podman pull oci:target/image                        # or:
  tar --directory target/image --create . | docker load

--to DIRECTORY   write it there instead of to target/image";

/// The user and group that the image runs as.
const USER: u32 = 65_532;
/// The largest image, in bytes (PR-39).
const LIMIT: u64 = 90_000_000;
/// The directories that the image writes to; both are volumes.
const VOLUMES: [&str; 2] = ["data", "keys"];
/// The name under which the image is loaded.
const NAME: &str = concat!("vestry:", env!("CARGO_PKG_VERSION"));
/// The settings of the image, where the binary finds them.
const SETTINGS: (&str, &str) = ("deploy/container.toml", "etc/vestry/vestry.toml");

pub(crate) fn run(arguments: &[String]) -> Result<(), Failure> {
    let mut arguments = Arguments::new("image", arguments);
    let to = arguments.value("--to")?;
    let wrong = arguments.wrong("expected the path of a binary");
    let words = arguments.words()?;
    let [binary] = words.as_slice() else {
        return Err(wrong);
    };
    let directory = to.map_or_else(|| project::target().join("image"), PathBuf::from);
    let packages = Packages::of(Path::new(binary))?;
    let image = Image::write(&packages, Path::new(binary), &directory)?;
    image.require_small()?;
    for package in packages.all() {
        println!("{} {}", package.name, package.version);
    }
    println!("{}  sha256:{}", directory.display(), image.digest);
    Ok(())
}

/// An image in a directory.
pub(crate) struct Image {
    /// The digest of its manifest, without the name of the algorithm.
    pub(crate) digest: String,
    /// The size of its layers.
    bytes: u64,
}

impl Image {
    /// Writes the image of a binary to a directory, in place of an older image.
    pub(crate) fn write(
        packages: &Packages,
        binary: &Path,
        directory: &Path,
    ) -> Result<Self, Failure> {
        let layout = Layout::empty(directory)?;
        let layers = [
            layout.layer(&system(packages)?)?,
            layout.layer(&program(binary))?,
        ];
        let architecture = process::output(Command::new("dpkg").arg("--print-architecture"))?;
        let architecture = architecture.trim();
        let config = layout.document(CONFIG, &config(architecture, &layers))?;
        let manifest = layout.document(
            MANIFEST,
            &json!({
                "schemaVersion": 2,
                "mediaType": MANIFEST,
                "config": config.descriptor(),
                "layers": layers.iter().map(Blob::descriptor).collect::<Vec<_>>(),
            }),
        )?;
        layout.finish(&manifest, architecture)?;
        layout.describe_to_docker(&config, &layers)?;
        Ok(Self {
            digest: manifest.digest,
            bytes: layers.iter().map(|layer| layer.bytes).sum(),
        })
    }

    /// The archive of an image's directory, which `docker load` and `podman load` read.
    pub(crate) fn pack(directory: &Path) -> Result<Archive, Failure> {
        let mut archive = Archive::default();
        for name in [MARK, "index.json", FOR_DOCKER] {
            archive.file(name, 0o644, &directory.join(name));
        }
        let blobs = Layout(directory).blobs();
        let doing = || format!("cannot read {}", blobs.display());
        for entry in fs::read_dir(&blobs).context(doing())? {
            let entry = entry.context(doing())?;
            let name = format!("blobs/sha256/{}", entry.file_name().display());
            archive.file(&name, 0o644, &entry.path());
        }
        Ok(archive)
    }

    /// Fails if the image is larger than a released one may be.
    pub(crate) fn require_small(&self) -> Result<(), Failure> {
        if self.bytes <= LIMIT {
            return Ok(());
        }
        Err(Failure::new(format!(
            "the image has {} MB, and {} MB are allowed; build the binary with --profile dist",
            self.bytes.div_ceil(1_000_000),
            LIMIT / 1_000_000
        )))
    }
}

/// The first layer: everything that the binary needs of a system.
fn system(packages: &Packages) -> Result<Archive, Failure> {
    let mut layer = Archive::default();
    for (path, file) in packages.libraries()? {
        let name = path.display().to_string();
        layer.file(name.trim_start_matches('/'), 0o755, &file);
    }
    for package in packages.all() {
        let name = format!("var/lib/dpkg/status.d/{}", package.name);
        layer.bytes(&name, package.control.as_str());
        if let Some((name, file)) = package.licence() {
            layer.file(&name, 0o644, &file);
        }
    }
    layer.bytes("etc/ssl/certs/ca-certificates.crt", packages.authorities()?);
    // Scanners look there for the release of the packages.
    layer.file("etc/os-release", 0o644, Path::new("/usr/lib/os-release"));
    let no_shell = "/sbin/nologin";
    layer.bytes(
        "etc/passwd",
        format!("root:x:0:0:root:/:{no_shell}\nvestry:x:{USER}:{USER}:vestry:/data:{no_shell}\n"),
    );
    layer.bytes("etc/group", format!("root:x:0:\nvestry:x:{USER}:\n"));
    for volume in VOLUMES {
        layer.directory(volume, 0o700, USER);
    }
    Ok(layer)
}

/// The second layer: the binary and its settings.
fn program(binary: &Path) -> Archive {
    let mut layer = Archive::default();
    layer.file("usr/local/bin/vestry", 0o755, binary);
    let (settings, place) = SETTINGS;
    layer.file(place, 0o644, &project::root().join(settings));
    layer
}

/// How the image is run.
fn config(architecture: &str, layers: &[Blob]) -> Value {
    let version = env!("CARGO_PKG_VERSION");
    json!({
        "architecture": architecture,
        "os": "linux",
        "created": "1970-01-01T00:00:00Z",
        "config": {
            "User": format!("{USER}:{USER}"),
            "Env": ["PATH=/usr/local/bin"],
            "Entrypoint": ["/usr/local/bin/vestry"],
            "Cmd": ["serve"],
            "WorkingDir": "/etc/vestry",
            "Volumes": VOLUMES.map(|name| (format!("/{name}"), json!({}))).into_iter().collect::<serde_json::Map<_, _>>(),
            "ExposedPorts": { "8080/tcp": {} },
            "StopSignal": "SIGTERM",
            "Labels": {
                "org.opencontainers.image.title": "Vestry",
                "org.opencontainers.image.version": version,
                "org.opencontainers.image.licenses": env!("CARGO_PKG_LICENSE"),
            },
        },
        "rootfs": {
            "type": "layers",
            "diff_ids": layers.iter().map(Blob::name).collect::<Vec<_>>(),
        },
        "history": [
            { "created_by": "libraries and certificates of Debian packages" },
            { "created_by": "vestry" },
        ],
    })
}

const INDEX: &str = "application/vnd.oci.image.index.v1+json";
const MANIFEST: &str = "application/vnd.oci.image.manifest.v1+json";
const CONFIG: &str = "application/vnd.oci.image.config.v1+json";
/// Layers are not compressed: that would tie the digest to a compressor, and registries store them compressed anyway.
const LAYER: &str = "application/vnd.oci.image.layer.v1.tar";

/// The file by which a directory is known as a layout.
const MARK: &str = "oci-layout";

/// The file that Docker reads instead of the index, unless it stores images with containerd.
const FOR_DOCKER: &str = "manifest.json";

/// The directory of an image, as the OCI image specification lays it out.
struct Layout<'a>(&'a Path);

/// A file of a layout, under the name of its digest.
struct Blob {
    kind: &'static str,
    digest: String,
    bytes: u64,
}

impl Blob {
    fn name(&self) -> String {
        format!("sha256:{}", self.digest)
    }

    fn descriptor(&self) -> Value {
        json!({ "mediaType": self.kind, "digest": self.name(), "size": self.bytes })
    }
}

impl<'a> Layout<'a> {
    /// An empty layout. An older one is deleted, anything else in the directory refused.
    fn empty(directory: &'a Path) -> Result<Self, Failure> {
        let doing = || format!("cannot create {}", directory.display());
        let is_used = directory.exists() && fs::read_dir(directory).context(doing())?.count() > 0;
        if is_used && !directory.join(MARK).exists() {
            let message = format!("{} is not empty and has no image", directory.display());
            return Err(Failure::new(message));
        }
        if is_used {
            fs::remove_dir_all(directory).context(doing())?;
        }
        let layout = Self(directory);
        fs::create_dir_all(layout.blobs()).context(doing())?;
        layout.file(MARK, &json!({ "imageLayoutVersion": "1.0.0" }))?;
        Ok(layout)
    }

    fn blobs(&self) -> PathBuf {
        self.0.join("blobs/sha256")
    }

    fn file(&self, name: &str, content: &Value) -> Result<(), Failure> {
        let path = self.0.join(name);
        fs::write(&path, content.to_string()).context(format!("cannot write {}", path.display()))
    }

    fn layer(&self, content: &Archive) -> Result<Blob, Failure> {
        let path = self.blobs().join("new");
        content.write(&path)?;
        self.keep(LAYER, &path)
    }

    fn document(&self, kind: &'static str, content: &Value) -> Result<Blob, Failure> {
        let path = self.blobs().join("new");
        fs::write(&path, content.to_string())
            .context(format!("cannot write {}", path.display()))?;
        self.keep(kind, &path)
    }

    /// Gives a new file the name of its digest.
    fn keep(&self, kind: &'static str, path: &Path) -> Result<Blob, Failure> {
        let digest = sha256(path)?;
        let doing = || format!("cannot keep {}", path.display());
        let bytes = fs::metadata(path).context(doing())?.len();
        fs::rename(path, self.blobs().join(&digest)).context(doing())?;
        Ok(Blob {
            kind,
            digest,
            bytes,
        })
    }

    fn describe_to_docker(&self, config: &Blob, layers: &[Blob]) -> Result<(), Failure> {
        let path = |blob: &Blob| format!("blobs/sha256/{}", blob.digest);
        let image = json!({
            "Config": path(config),
            "RepoTags": [NAME],
            "Layers": layers.iter().map(path).collect::<Vec<_>>(),
        });
        self.file(FOR_DOCKER, &json!([image]))
    }

    /// Writes the index, which names the image for those that load it.
    fn finish(&self, manifest: &Blob, architecture: &str) -> Result<(), Failure> {
        let mut image = manifest.descriptor();
        if let Some(image) = image.as_object_mut() {
            image.insert(
                "platform".to_owned(),
                json!({ "architecture": architecture, "os": "linux" }),
            );
            image.insert(
                "annotations".to_owned(),
                json!({
                    "org.opencontainers.image.ref.name": NAME,
                    "io.containerd.image.name": format!("docker.io/library/{NAME}"),
                }),
            );
        }
        let index = json!({ "schemaVersion": 2, "mediaType": INDEX, "manifests": [image] });
        self.file("index.json", &index)
    }
}
