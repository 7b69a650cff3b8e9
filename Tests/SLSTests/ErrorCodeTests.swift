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

    @Test(
        "What helps follows from the code",
        arguments: [
            ("RequestTimeExpired", ErrorCode.Cure.clock),
            ("PostBodyInvalid", .takingOut),
            ("PostBodyTooLarge", .takingOut),
            ("ParameterInvalid", .repairing),
            ("InvalidSequenceId", .nothing),
            ("SignatureNotMatch", .authorizing),
            ("Unauthorized", .authorizing),
            ("WriteQuotaExceed", .slowing),
            ("ShardWriteQuotaExceed", .slowing),
            ("ProjectForbidden", .paying),
            ("ProjectNotExist", .naming),
            ("LogStoreNotExist", .naming),
            ("InternalServerError", .waiting),
            ("ServerBusy", .waiting),
        ]
    )
    func cure(name: String, cure: ErrorCode.Cure) {
        #expect(ErrorCode.known(name)?.cure == cure)
    }

    @Test("A code that nobody knows is no entry")
    func unknown() {
        #expect(ErrorCode.known("NeverHeardOf") == nil)
    }
}
