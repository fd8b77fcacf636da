//! The panel's files, built into the program.

use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse as _, Response};

/// A file by the path that it is asked for.
struct Asset {
    path: &'static str,
    kind: &'static str,
    bytes: &'static [u8],
}

const ASSETS: [Asset; 3] = [
    Asset {
        path: "/",
        kind: "text/html; charset=utf-8",
        bytes: include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../panel/dist/index.html")),
    },
    Asset {
        path: "/panel.js",
        kind: "text/javascript; charset=utf-8",
        bytes: include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../panel/dist/panel.js")),
    },
    Asset {
        path: "/panel.css",
        kind: "text/css; charset=utf-8",
        bytes: include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../panel/dist/panel.css")),
    },
];

/// Returns the file at a path.
pub(super) fn asset(path: &str) -> Option<Response> {
    let asset = ASSETS.iter().find(|asset| asset.path == path)?;
    let mut response = (StatusCode::OK, asset.bytes).into_response();
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(asset.kind));
    Some(response)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::path::{Path, PathBuf};

    use checkmate_machine::effect::hash;
    use sha2::{Digest as _, Sha256};

    fn files(folder: &Path, found: &mut Vec<PathBuf>) {
        for entry in std::fs::read_dir(folder).unwrap().flatten() {
            match entry.path().is_dir() {
                true => files(&entry.path(), found),
                false => found.push(entry.path()),
            }
        }
    }

    /// The panel is built with Node.js, and building the program needs none: so what was built is kept beside its
    /// sources, with a number that is made from them.
    #[test]
    fn the_panel_was_built_from_its_sources() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap();
        let mut inputs = Vec::new();
        files(&root.join("panel/src"), &mut inputs);
        for name in ["index.html", "package.json", "package-lock.json", "tsconfig.json", "vite.config.ts"] {
            inputs.push(root.join("panel").join(name));
        }
        for name in ["frames", "messages"] {
            inputs.push(root.join(format!("docs/schema/{name}.schema.json")));
        }
        let hex =
            |bytes: &[u8]| Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect::<String>();
        let sums: BTreeMap<String, String> = inputs
            .iter()
            .map(|path| {
                let name = path.strip_prefix(&root).unwrap().to_string_lossy().into_owned();
                (name, hex(&std::fs::read(path).unwrap()))
            })
            .collect();
        let lines: String = sums.iter().map(|(name, sum)| format!("{sum}  {name}\n")).collect();
        let built = std::fs::read_to_string(root.join("panel/dist/SOURCE")).unwrap();
        assert_eq!(
            built.trim(),
            hash(&lines),
            "run `npm ci && npm run build` in panel/ and commit panel/dist"
        );
    }
}
