import Crypto
import Glibc
import SLS
import System
import TestSupport

@testable import Credentials

enum Samples {
    /// 2025-01-14T08:30:00Z.
    static let now = WallTime(seconds: 1_736_843_400)
    static let secret = "canary-secret-of-the-caller"
    static let token = "canary/token+of/the=caller"
    static let key = Credential(accessKeyID: "LTAI5tCallerKeyId", secret: Secret(secret))
    static let temporary = Credential(
        accessKeyID: "STS.CallerKeyId",
        secret: Secret(secret),
        securityToken: Secret(token)
    )
    static let roleARN = "acs:ram::1234567890123456:role/sls-gateway"

    /// What STS gives.
    static func issued(_ number: Int = 1) -> Credential {
        Credential(
            accessKeyID: "STS.IssuedKeyId\(number)",
            secret: Secret("canary-issued-secret-\(number)"),
            securityToken: Secret("canary-issued-token-\(number)")
        )
    }

    static func members(_ number: Int = 1, until end: WallTime = now + .seconds(3600)) -> String {
        #""AccessKeyId":"STS.IssuedKeyId\#(number)","AccessKeySecret":"canary-issued-secret-\#(number)","#
            + #""SecurityToken":"canary-issued-token-\#(number)","Expiration":"\#(end.iso8601)""#
    }

    static func stsAnswer(_ number: Int = 1, until end: WallTime = now + .seconds(3600)) -> String {
        #"{"RequestId":"6894B13B-6D71-4EF5-88FA-F32781734A7F","AssumedRoleUser":"#
            + #"{"Arn":"acs:ram::1:role/x/y","AssumedRoleId":"34458433936495****:y"},"#
            + #""Credentials":{\#(members(number, until: end))}}"#
    }

    static func metadataAnswer(_ number: Int = 1, until end: WallTime = now + .seconds(21_600))
        -> String
    {
        #"{"Code":"Success","LastUpdated":"2025-01-14T08:00:00Z",\#(members(number, until: end))}"#
    }

    static func refusal(_ code: String, _ message: String = "No.") -> String {
        #"{"Code":"\#(code)","Message":\#(jsonQuoted(message)),"RequestId":"R-1","HostId":"sts.aliyuncs.com"}"#
    }

    static func surroundings(
        _ environment: [String: String] = [:],
        _ clock: ManualClock = ManualClock(at: Samples.now),
        sts: String? = nil,
        metadata: String? = nil
    ) -> SourceContext {
        var surroundings = SourceContext(environment: environment)
        surroundings.clock = clock.clock
        surroundings.random = { 0.5 }
        surroundings.stsEndpoint = sts
        if let metadata { surroundings.metadata = metadata }
        return surroundings
    }

    static func fetch(
        _ source: CredentialSource,
        _ surroundings: SourceContext
    ) throws -> SuppliedCredential {
        try CredentialFetch(surroundings, interruption: Interruption()).credential(from: source)
    }

    /// What a source that fails throws.
    static func problem(
        _ source: CredentialSource,
        _ surroundings: SourceContext
    ) -> SourceProblem? {
        do {
            _ = try fetch(source, surroundings)
            return nil
        } catch {
            return error as? SourceProblem
        }
    }

    static func supplied(
        _ credential: Credential = issued(),
        lasting: Duration? = nil,
        since: WallTime = now
    ) -> SuppliedCredential {
        SuppliedCredential(
            credential,
            expiration: lasting.map { since + $0 },
            origin: "a test",
            obtainedAt: since
        )
    }
}

extension WallTime {
    var standInDate: String { httpDate }
}

extension ManualClock {
    var clock: CredentialClock {
        CredentialClock(now: { self.now }, moment: { self.moment }) { wake, time in
            self.sleep(wake, until: time)
        }
    }
}
