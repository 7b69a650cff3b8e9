import Glibc
import Queue
import TestSupport
import Testing

@testable import SQLiteQueue

@Suite struct DataDirectoryTests {
    @Test("A directory that cannot be used is named with where it begins, and with what helps")
    func problem() {
        let absolute = DataDirectory(path: "/nowhere/data").problem("cannot be created", EROFS)
        #expect(absolute.description.hasPrefix("/nowhere/data cannot be created: Read-only"))
        #expect(absolute.description.contains("--data-dir"))
        let relative = DataDirectory(path: "sluice-data").problem("cannot be created", EROFS)
        #expect(relative.description.hasPrefix("sluice-data (in /"), "\(relative.description)")
    }
}
