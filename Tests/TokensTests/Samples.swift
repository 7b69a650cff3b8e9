import Crypto
import System

@testable import Tokens

/// The examples of RFC 7515, appendix A, and tokens made of them.
enum Samples {
    /// When they were good: it is their end.
    static let end = WallTime(seconds: 1_300_819_380)
    static let now = WallTime(seconds: 1_300_819_000)

    private static let claims =
        "eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFtcGxlLmNvbS9pc19yb290Ijp0"
        + "cnVlfQ"
    static let hs256 =
        "eyJ0eXAiOiJKV1QiLA0KICJhbGciOiJIUzI1NiJ9.\(claims)."
        + "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk"
    static let rs256 =
        "eyJhbGciOiJSUzI1NiJ9.\(claims)."
        + "cC4hiUPoj9Eetdgtv3hF80EGrhuB__dzERat0XF9g2VtQgr9PJbu3XOiZj5RZmh7AAuHIm4Bh-0Qc_lF5YKt_O8W"
        + "2Fp5jujGbds9uJdbF9CUAr7t1dnZcAcQjbKBYNX4BAynRFdiuB--f_nZLgrnbyTyWzO75vRK5h6xBArLIARNPvkS"
        + "jtQBMHlb1L07Qe7K0GarZRmB_eSN9383LcOLn6_dO--xi12jzDwusC-eOkHWEsqtFZESc6BfI7noOPqvhJ1phCnv"
        + "Wh6IeYI2w9QOYEUipUTI8np6LbgGY9Fs98rqVt5AXLIhWkWywlVmtVrBp0igcN_IoypGlUPQGe77Rw"
    static let es256 =
        "eyJhbGciOiJFUzI1NiJ9.\(claims)."
        + "DtEhU3ljbEg8L38VWAfUAqOyKAM6-Xx-F4GawxaepmXFCgfTjDxw5djxLa8ISlSApmWQxfKTUJqPP3-Kg6NU1Q"

    /// The secret of the first example is bytes, not text.
    static let secretBytes = base64Decoded(
        Array(
            "AyM1SysPpbyDfgZld3umj1qzKObwVMkoqQ-EstJQLr_T-1qS0gZH75aKtMN3Yj0iPS4hcgUuTwjAzZr1Z9CAow"
                .utf8
        )[...],
        .url
    )
    static let rsaPEM = """
        -----BEGIN PUBLIC KEY-----
        MIIBIjANBgkqhkiG9w0BAQEFAAOCAQ8AMIIBCgKCAQEAofgWCuLjybRlzo0tZWJj
        NiuSfb4p4fAkd/wWJcyQoTbji9k0l8W26mPddxHmfHQp+Vaw+4qPCJrcS2mJPMEz
        P1Pt0Bm4d4QlL+yRT+SFd2lZS+pCgNMsD1W/YpRPEwOWvG6b32690r2jZ47soMZo
        9wGzjb/7OMg0LOL+bSf63kpaSHSXndS5z5rexMdbBYUsLA9e+KXBdQOS+UTo7WTB
        EMa2R2CapHg665xsmtdVMTBQY4uDZlxvb3qCo5ZwKh9kG4LT6/I5IhlJH7aGhyxX
        FvUK+DWNmoudF8NAco9/h9iaGNj8q2ethFkMLs91kzk2PAcDTW9gb54h4FRWyuXp
        oQIDAQAB
        -----END PUBLIC KEY-----

        """
    static let ecPEM = """
        -----BEGIN PUBLIC KEY-----
        MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEf83OJ3D2xF1Bg8vub9tLe1gHMzV7
        6e8Tus9uPHvRVEXH8UTNG72bfocs3+257rn0s2ldbqkLJK2KRiMohYjlrQ==
        -----END PUBLIC KEY-----

        """

    static let secret = Secret("0123456789abcdef0123456789abcdef")

    static func rules(_ algorithm: TokenAlgorithm, id: String = "k") throws -> TokenRules {
        let material: TokenKey.Material =
            switch algorithm {
            case .hs256: .secret(secret)
            case .rs256: .publicKey(try PublicKey(Array(rsaPEM.utf8), .rs256))
            case .es256: .publicKey(try PublicKey(Array(ecPEM.utf8), .es256))
            }
        return TokenRules(algorithm: algorithm, keys: [TokenKey(id: id, material)])
    }

    static func encoded(_ bytes: [UInt8]) -> String {
        Digest.base64(bytes).replacing("+", with: "-").replacing("/", with: "_")
            .replacing("=", with: "")
    }

    /// One with these members, signed with `secret`.
    static func token(
        _ claims: String,
        header: String = #"{"alg":"HS256"}"#,
        key: [UInt8] = Array("0123456789abcdef0123456789abcdef".utf8)
    ) -> String {
        let text = [header, claims].map { encoded(Array($0.utf8)) }.joined(separator: ".")
        return "\(text).\(encoded(Digest.hmacSHA256(key: key, text)))"
    }
}

extension TokenRules {
    func verify(_ token: String, at now: WallTime = Samples.now) throws(TokenProblem)
        -> VerifiedToken
    {
        try verify(Array(token.utf8)[...], at: now)
    }

    func problem(_ token: String, at now: WallTime = Samples.now) -> TokenProblem? {
        do throws(TokenProblem) {
            _ = try verify(token, at: now)
            return nil
        } catch {
            return error
        }
    }
}
