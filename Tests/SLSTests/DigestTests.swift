import Crypto
import System
import Testing

@testable import SLS

@Suite struct DigestTests {
    @Test(
        "Digests of the recorded bodies",
        arguments: [
            (
                Vectors.raw, "47651B3A52D197A22E9A41A8A8EA5C75",
                "de1706ec2a03415684a878c7418d86426ae5e452045206ff10ec3b7bfe5be019"
            ),
            (
                Vectors.lz4, "63C4837D54D1D1F05B7A20C2A9AB7ACD",
                "6b82e14c100e5cf6cf89ae1cb9df3f15f3d6e30d5f239a05474105544f0993d6"
            ),
            (
                [], "D41D8CD98F00B204E9800998ECF8427E",
                "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
            ),
        ]
    )
    func digests(body: [UInt8], md5: String, sha256: String) {
        #expect(hex(Digest.md5(body), upper: true) == md5)
        #expect(Digest.sha256Hex(body) == sha256)
        let pieces: [ArraySlice<UInt8>] = [body.prefix(1), [], body.dropFirst()]
        #expect(Digest.md5Hex(pieces) == md5)
        #expect(Digest.sha256Hex(pieces) == sha256)
    }

    // RFC 2202 case 2 and RFC 4231 case 2.
    @Test("Message authentication agrees with the RFCs")
    func authentication() {
        let message = "what do ya want for nothing?"
        #expect(
            hex(Digest.hmacSHA1(key: Array("Jefe".utf8), Array(message.utf8)))
                == "effcdf6ae5eb2fa2d27416d5f184df9c259a7c79"
        )
        #expect(
            hex(Digest.hmacSHA256(key: Array("Jefe".utf8), message))
                == "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843"
        )
    }

    // RFC 4648 section 10.
    @Test(
        "Base64 pads",
        arguments: zip(
            ["", "f", "fo", "foo", "foob", "fooba", "foobar"],
            ["", "Zg==", "Zm8=", "Zm9v", "Zm9vYg==", "Zm9vYmE=", "Zm9vYmFy"]
        )
    )
    func base64(text: String, encoded: String) {
        #expect(Digest.base64(Array(text.utf8)) == encoded)
    }

    @Test("Equality looks at length and content")
    func equality() {
        #expect(Digest.areEqual([1, 2, 3], [1, 2, 3]))
        #expect(!Digest.areEqual([1, 2, 3], [1, 2, 4]))
        #expect(!Digest.areEqual([1, 2, 3], [1, 2]))
        #expect(Digest.areEqual([], []))
    }
}
