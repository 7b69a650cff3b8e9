import Glibc
import System

/// Why a small file could not be read, in words.
struct FileProblem: Error, Equatable {
    let reason: String
}

/// The whole content of a small file; anything larger than the limit is refused unread.
func fileContent(_ path: String, bytesMax: Int = 1 << 20) throws(FileProblem) -> [UInt8] {
    do throws(SystemError) {
        let file = OwnedDescriptor(
            taking: try system("open") { open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY) }
        )
        var content: [UInt8] = []
        let chunkBytes = 64 << 10
        while content.count <= bytesMax {
            var failure: SystemError?
            let chunk = [UInt8](unsafeUninitializedCapacity: chunkBytes) { buffer, filled in
                do throws(SystemError) {
                    filled = try system("read") {
                        read(file.number, buffer.baseAddress, chunkBytes)
                    }
                } catch {
                    failure = error
                }
            }
            if let failure { throw failure }
            if chunk.isEmpty { return content }
            content += chunk
        }
    } catch {
        throw FileProblem(reason: String(cString: strerror(error.code)))
    }
    throw FileProblem(reason: "larger than \(bytesMax) bytes")
}
