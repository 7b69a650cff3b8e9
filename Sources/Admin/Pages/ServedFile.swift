import CFiles

/// A text file that the program serves from memory, as it is in the repository.
struct ServedFile: Sendable {
    let name: String
    let text: String

    private init(_ file: EmbeddedFile) {
        name = String(cString: file.name)
        text = String(
            decoding: UnsafeBufferPointer(start: file.bytes, count: file.count),
            as: UTF8.self
        )
    }

    static let openAPI = ServedFile(embeddedDocument)

    static let console = Array(
        sequence(state: 0) { index -> ServedFile? in
            defer { index += 1 }
            return embeddedConsoleFile(index).map { ServedFile($0.pointee) }
        }
    )
}
