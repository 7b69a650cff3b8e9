import Crypto
import SLS
import Testing

@testable import Credentials

@Suite struct RPCSignatureTests {
    private let common = [
        (name: "Format", value: "JSON"), ("SignatureMethod", "HMAC-SHA1"),
        ("SignatureVersion", "1.0"),
    ]

    private var assumeRole: [(name: String, value: String)] {
        common + [
            ("AccessKeyId", "testkeyid"), ("Action", "AssumeRole"), ("Version", "2015-04-01"),
            ("Timestamp", "2025-01-14T08:30:00Z"),
            ("SignatureNonce", "3ee8c1b8-83d3-44af-a94f-4e0ad82fd6cf"),
            ("RoleArn", Samples.roleARN), ("RoleSessionName", "gw-1"), ("DurationSeconds", "3600"),
        ]
    }

    @Test("The signature is that of Alibaba's documentation")
    func documented() {
        let parameters =
            common + [
                ("AccessKeyId", "testid"), ("Action", "CreateUser"), ("UserName", "test"),
                ("Version", "2015-05-01"), ("Timestamp", "2015-08-18T03:15:45Z"),
                ("SignatureNonce", "6a6e0ca6-4557-11e5-86a2-b8e8563dc8d2"),
            ]
        #expect(
            RPCSignature.sign("GET", parameters, secret: Secret("testsecret"))
                == "kRA2cnpJVacIhDMzXnoNZG9tDCI="
        )
    }

    @Test("A call for a role is signed as an independent program signs it")
    func assumingRole() {
        #expect(
            RPCSignature.stringToSign("POST", assumeRole)
                == "POST&%2F&AccessKeyId%3Dtestkeyid%26Action%3DAssumeRole%26DurationSeconds%3D3600"
                + "%26Format%3DJSON%26RoleArn%3Dacs%253Aram%253A%253A1234567890123456%253Arole%252F"
                + "sls-gateway%26RoleSessionName%3Dgw-1%26SignatureMethod%3DHMAC-SHA1%26SignatureNonce"
                + "%3D3ee8c1b8-83d3-44af-a94f-4e0ad82fd6cf%26SignatureVersion%3D1.0%26Timestamp%3D"
                + "2025-01-14T08%253A30%253A00Z%26Version%3D2015-04-01"
        )
        #expect(
            RPCSignature.sign("POST", assumeRole, secret: Secret("testkeysecret"))
                == "7ITIx1I/VGEuL5gs9jhQi1nU/ms="
        )
    }

    @Test("So is one with a policy")
    func policy() {
        let policy =
            #"{"Version":"1","Statement":[{"Effect":"Allow","Action":"log:PostLogStoreLogs","#
            + #""Resource":"acs:log:*:*:project/p/logstore/*"}]}"#
        #expect(
            RPCSignature.sign(
                "POST",
                assumeRole + [("Policy", policy)],
                secret: Secret("testkeysecret")
            ) == "ai1CPQ+mYjoDGLKdg2dRgA/Lpc4="
        )
    }
}
