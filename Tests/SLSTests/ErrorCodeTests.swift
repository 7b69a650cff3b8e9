import Testing

@testable import SLS

@Suite struct ErrorCodeTests {
    @Test("Each code stands in the table once, with a meaning and a remedy")
    func table() {
        let names = ErrorCode.table.map(\.name)
        #expect(Set(names).count == names.count)
        for code in ErrorCode.table {
            #expect(!code.meaning.isEmpty && !code.remedy.isEmpty)
        }
    }

    @Test("A code that nobody knows is no entry")
    func unknown() {
        #expect(ErrorCode.known("NeverHeardOf") == nil)
    }
}
