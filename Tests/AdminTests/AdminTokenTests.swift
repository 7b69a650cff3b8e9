import Crypto
import Glibc
import SLS
import System
import TestConfiguration
import TestSupport
import Testing

@testable import Admin
@testable import Configuration
@testable import Gateway
@testable import Operations

@Suite struct AdminTokenTests {
    private let token = AdminToken(Secret("0123456789abcdef0123456789abcdef"))

    @Test(
        "Only the whole token is admitted",
        arguments: [
            ("Bearer 0123456789abcdef0123456789abcdef", true),
            ("bearer 0123456789abcdef0123456789abcdef", true),
            ("Bearer 0123456789abcdef0123456789abcdeg", false),
            ("Bearer 0123456789abcdef0123456789abcde", false),
            ("Bearer 0123456789abcdef0123456789abcdef0", false),
            ("Bearer 0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef", false),
            ("Bearer ", false), ("Bearer", false), ("", false),
            ("Basic 0123456789abcdef0123456789abcdef", false),
        ]
    )
    func admits(header: String, isAdmitted: Bool) {
        #expect(token.admits(Array(header.utf8)) == isAdmitted)
    }

    @Test("A generated token survives restarts and is readable only by its owner")
    func file() throws {
        let directory = TemporaryDirectory()
        let file = TokenFile(dataDirectory: directory.path, journal: .silent)
        let first = try file.token()
        #expect(first.revealed.utf8.count == 64)
        #expect(try file.token() == first)
        var status = stat()
        #expect(stat(file.path, &status) == 0)
        #expect(status.st_mode & 0o777 == 0o600)
    }

    @Test("A token file that others can read is refused with the remedy")
    func readableByOthers() throws {
        let directory = TemporaryDirectory()
        let path = directory.file("admin-token", String(repeating: "a", count: 64))
        chmod(path, 0o644)
        let error = #expect(throws: StartProblem.self) {
            try TokenFile(dataDirectory: directory.path, journal: .silent).token()
        }
        #expect(error?.description.contains("chmod 600") == true)
    }

    @Test(
        "A partly written token file is replaced at the start",
        arguments: ["", "\n", "0123"]
    )
    func unfinished(content: String) throws {
        let directory = TemporaryDirectory()
        let path = directory.file("admin-token", content)
        chmod(path, 0o600)
        let lines = Locked<[String]>([])
        let journal = Journal(level: .info, format: .json) { line in
            lines.withLock { $0.append(String(decoding: line, as: UTF8.self)) }
        }
        let file = TokenFile(dataDirectory: directory.path, journal: journal)
        let token = try file.token()
        #expect(lines.withLock { $0.count } == 1)
        #expect(token.revealed.utf8.count == 64)
        #expect(try file.token() == token)
    }

    @Test("A token path that is no regular file is refused")
    func directoryInPlace() throws {
        let directory = TemporaryDirectory()
        mkdir(directory.path + "/admin-token", 0o700)
        let error = #expect(throws: StartProblem.self) {
            try TokenFile(dataDirectory: directory.path, journal: .silent).token()
        }
        #expect(error?.description.contains("is not a regular file") == true)
        #expect(error?.description.contains("chmod") == false)
    }

    @Test("The error for an unwritable directory names it")
    func unwritable() {
        let error = #expect(throws: StartProblem.self) {
            try TokenFile(dataDirectory: "/none/such", journal: .silent).token()
        }
        #expect(error?.description.contains("/none/such/admin-token") == true)
    }
}
