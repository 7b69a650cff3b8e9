import Glibc
import Testing

/// A directory of its own, removed at the end.
final class TestDirectory {
    let path: String

    init() throws {
        var template = Array("/tmp/sluice-sandbox-XXXXXX".utf8CString)
        try #require(mkdtemp(&template) != nil)
        path = template.withUnsafeBufferPointer { String(cString: $0.baseAddress!) }
    }

    deinit {
        guard let directory = opendir(path) else { return }
        while let entry = readdir(directory) {
            let name = withUnsafePointer(to: &entry.pointee.d_name) {
                $0.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
            }
            unlink(path + "/" + name)
        }
        closedir(directory)
        rmdir(path)
    }
}
