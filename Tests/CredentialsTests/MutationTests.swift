import System
import Testing

@testable import Credentials

/// What others write is read without trusting it: any cut and any broken byte ends in a value or in
/// none.
@Suite struct MutationTests {
    private static let texts = [
        Samples.stsAnswer(), Samples.metadataAnswer(), Samples.refusal("NoPermission"),
        "[default]\ntype = sts\naccess_key_id = a\r\n# c\n[x]\nsecurity_token=b=c\n",
        #"{"current":"a","profiles":[{"name":"a","mode":"AK","expired_seconds":3600,"x":[1,{}]}]}"#,
    ]

    @Test("Every cut and every broken byte is survived", arguments: texts)
    func broken(text: String) {
        let whole = Array(text.utf8)
        for index in whole.indices {
            read(Array(whole[..<index]))
            for byte in [0, 0x0A, 0x22, 0x5B, 0x5C, 0x5D, 0x7B, 0x7D, 0x3D, 0xFF] as [UInt8] {
                var changed = whole
                changed[index] = byte
                read(changed)
                changed.insert(byte, at: index)
                read(changed)
            }
        }
    }

    private func read(_ bytes: [UInt8]) {
        let document = CredentialDocument(json: bytes)
        // Half a credential is none.
        #expect(document?.credential == nil || document?.missing == [])
        _ = IniProfiles(bytes)
        _ = CLIProfiles(bytes)
    }

    @Test("Nesting and numbers without end are survived")
    func extremes() {
        let deep = Array(String(repeating: #"{"Credentials":"#, count: 5000).utf8)
        #expect(CredentialDocument(json: deep) == nil)
        let digits = String(repeating: "9", count: 5000)
        let number = Array(#"{"profiles":[{"name":"a","expired_seconds":\#(digits)}]}"#.utf8)
        #expect(CLIProfiles(number)?.profiles["a"]?["expired_seconds"] == nil)
        #expect(IniProfiles(Array(String(repeating: "a=\n", count: 20_000).utf8)) == nil)
    }
}
