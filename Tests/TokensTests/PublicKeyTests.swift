import Testing

@testable import Tokens

@Suite struct PublicKeyTests {
    /// 1024 bits, from `openssl genrsa`.
    private static let shortRSA = """
        -----BEGIN PUBLIC KEY-----
        MIGfMA0GCSqGSIb3DQEBAQUAA4GNADCBiQKBgQDLTqhC97R4J94Ew1d9v3pmiBge
        wIsuOYbElvShmvlmO23G5X1uxOgrDhTofpTm0uxy9n7gqE2rylZXcGem7TR6Epj2
        mdyEQsLVEkMcuAZ2NwkUTLt87wT5G2CuZ7S6BdjW6cu5j1tcB085N1JkUFiiiNME
        NSsI9tqzTLPKVQw9TQIDAQAB
        -----END PUBLIC KEY-----
        """
    private static let otherCurve = """
        -----BEGIN PUBLIC KEY-----
        MHYwEAYHKoZIzj0CAQYFK4EEACIDYgAElevR0lebzVN8qxpY5bRQWxz3n5wEKgiD
        gFfVU6nxwwDFaWRzM3d7JpdK4iGndQJwoToFrh+hqTbVayQZRTa6RLjR6w+miDSM
        VRhBCwyIgO3iQKVXeOev+kGh7QoofpxI
        -----END PUBLIC KEY-----
        """

    @Test("A key fits its algorithm, or says what would")
    func fits() throws {
        for (text, algorithm, part) in [
            (Samples.ecPEM, TokenAlgorithm.rs256, "RS256 wants an RSA key of 2048 bits"),
            (Samples.rsaPEM, .es256, "ES256 wants an EC key on P-256"),
            (Self.shortRSA, .rs256, "RS256 wants an RSA key of 2048 bits"),
            (Self.otherCurve, .es256, "ES256 wants an EC key on P-256"),
            ("", .rs256, "openssl pkey -in KEY -pubout"),
            ("text", .es256, "not a public key in PEM"),
            (
                Samples.rsaPEM.replacing("PUBLIC", with: "PRIVATE"), .rs256,
                "not a public key in PEM"
            ),
        ] {
            let error = #expect(throws: PublicKeyProblem.self) {
                try PublicKey(Array(text.utf8), algorithm)
            }
            #expect(error?.description.contains(part) == true, "\(error?.description ?? "")")
        }
        let (one, other) = (
            try PublicKey(Array(Samples.ecPEM.utf8), .es256),
            try PublicKey(Array(Samples.ecPEM.utf8), .es256)
        )
        #expect(one == other)
    }

    @Test("A signature of another length is none")
    func lengths() throws {
        for (text, algorithm) in [(Samples.ecPEM, TokenAlgorithm.es256), (Samples.rsaPEM, .rs256)] {
            let key = try PublicKey(Array(text.utf8), algorithm)
            for count in [0, 1, 32, 63, 64, 65, 128, 255, 256, 257, 4096] {
                for byte in [0, 1, 0xFF] as [UInt8] {
                    let signature = [UInt8](repeating: byte, count: count)
                    #expect(!key.verifies([1, 2, 3], signature))
                }
            }
        }
    }
}
