import Glibc

/// A directory of its own for one test, gone afterwards.
package final class TemporaryDirectory: Sendable {
    package let path: String

    package init() {
        var template = Array("/tmp/sluice-gateway-XXXXXX".utf8CString)
        precondition(mkdtemp(&template) != nil, "no temporary directory")
        path = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }

    deinit { Self.remove(path) }

    package func file(_ name: String, _ content: String) -> String {
        file(name, Array(content.utf8))
    }

    package func file(_ name: String, _ content: [UInt8]) -> String {
        let path = "\(path)/\(name)"
        let file = fopen(path, "w")
        fwrite(content, 1, content.count, file)
        fclose(file)
        return path
    }

    private static func remove(_ path: String) {
        if let directory = opendir(path) {
            while let entry = readdir(directory) {
                let name = withUnsafePointer(to: &entry.pointee.d_name) {
                    $0.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
                }
                if name != ".", name != ".." { remove("\(path)/\(name)") }
            }
            closedir(directory)
        }
        Glibc.remove(path)
    }
}
