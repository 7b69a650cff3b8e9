/// The path of a file of the repository, such as "docs/delivery.md", which a test compares with the
/// code.
package func repositoryFile(_ path: String) -> String {
    "/" + #filePath.split(separator: "/").dropLast(3).joined(separator: "/") + "/" + path
}
