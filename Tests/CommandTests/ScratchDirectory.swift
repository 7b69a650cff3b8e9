import Foundation

/// A directory of its own for each test, gone with the value.
final class ScratchDirectory {
    let path: String

    init() {
        var template = Array("/tmp/sluice-test-XXXXXX".utf8CString)
        path = String(cString: mkdtemp(&template))
    }

    deinit {
        try? FileManager.default.removeItem(atPath: path)
    }

    @discardableResult
    func write(_ text: String, to name: String) throws -> String {
        let file = "\(path)/\(name)"
        try text.write(toFile: file, atomically: true, encoding: .utf8)
        return file
    }
}
