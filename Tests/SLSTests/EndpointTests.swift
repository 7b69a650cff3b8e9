import Testing

@testable import SLS

@Suite struct EndpointTests {
    @Test(
        "An endpoint is read as people write it",
        arguments: [
            ("https://cn-hangzhou.log.aliyuncs.com", "p.cn-hangzhou.log.aliyuncs.com"),
            ("cn-hangzhou.log.aliyuncs.com/", "p.cn-hangzhou.log.aliyuncs.com"),
            ("HTTPS://CN-Hangzhou.log.aliyuncs.com:443", "p.cn-hangzhou.log.aliyuncs.com"),
            ("http://localhost:8080", "p.localhost:8080"),
            ("http://127.0.0.1:8080", "127.0.0.1:8080"),
            ("http://127.0.0.1:80", "127.0.0.1"),
            ("http://[::1]:8080", "[::1]:8080"),
            ("https://[2001:db8::1]", "[2001:db8::1]"),
            ("log-global.aliyuncs.com", "p.log-global.aliyuncs.com"),
        ]
    )
    func authority(text: String, authority: String) throws {
        #expect(try Endpoint(parsing: text).authority(forProject: "p") == authority)
    }

    @Test(
        "The region is read from Alibaba's host names",
        arguments: [
            ("https://cn-hangzhou.log.aliyuncs.com", "cn-hangzhou"),
            ("cn-hangzhou-intranet.log.aliyuncs.com", "cn-hangzhou"),
            ("cn-hangzhou-share.log.aliyuncs.com", "cn-hangzhou"),
            ("cn-hangzhou-vpc.sls.aliyuncs.com", "cn-hangzhou"),
            ("cn-hangzhou-vpc-intranet.log.aliyuncs.com", "cn-hangzhou-vpc"),
            ("xx-test-acdr-ut-1-intranet.log.aliyuncs.com", "xx-test-acdr-ut-1"),
            ("log-global.aliyuncs.com", nil),
            ("logs.example.com", nil),
            ("http://127.0.0.1:80", nil),
        ]
    )
    func region(text: String, region: String?) throws {
        #expect(try Endpoint(parsing: text).region == region)
    }

    @Test(
        "What cannot be an endpoint is refused with the reason",
        arguments: [
            ("", "has no host"),
            ("https://", "has no host"),
            ("ftp://cn-hangzhou.log.aliyuncs.com", "is neither http nor https"),
            ("https://a:b@log.example.com", "has more than"),
            ("https://log.example.com/path", "has more than"),
            ("https://log.example.com?x=1", "has more than"),
            ("https://log.example.com:0", "has the port '0'"),
            ("https://log.example.com:65536", "has the port '65536'"),
            ("https://log.example.com:8o", "has the port '8o'"),
            ("https://log..example.com", "which is not a valid name"),
            ("https://1.2.3", "which is not a valid name"),
            ("https://[::1", "which is not a valid name"),
            ("https://[::g]", "which is not a valid name"),
            ("https://log.example.com\n", "contains spaces"),
            ("https://日志.example.com", "contains spaces or characters other than ASCII"),
            ("my-project.cn-hangzhou.log.aliyuncs.com", "set project to my-project"),
            ("https://my-project.log-global.aliyuncs.com", "set project to my-project"),
        ]
    )
    func refused(text: String, reason: String) {
        let error = #expect(throws: EndpointError.self) { try Endpoint(parsing: text) }
        #expect(error?.description.contains(reason) == true)
    }

    @Test("Signature v4 takes the given region before the endpoint's, and asks for one")
    func signingRegion() throws {
        let hangzhou = try Endpoint(parsing: "cn-hangzhou.log.aliyuncs.com")
        let custom = try Endpoint(parsing: "https://logs.example.com")
        #expect(
            try SigningMethod(.v4, region: nil, endpoints: [hangzhou]) == .v4(region: "cn-hangzhou")
        )
        #expect(
            try SigningMethod(.v4, region: "eu-central-1", endpoints: [hangzhou])
                == .v4(region: "eu-central-1")
        )
        #expect(try SigningMethod(.v1, region: nil, endpoints: [custom]) == .v1)
        let error = #expect(throws: EndpointError.self) {
            try SigningMethod(.v4, region: nil, endpoints: [custom])
        }
        #expect(error?.description.contains("set region") == true)
        #expect(throws: EndpointError.self) {
            try SigningMethod(.v4, region: "cn/hangzhou", endpoints: [hangzhou])
        }
    }

    @Test("Disaster-recovery regions are signed with v4 whatever was asked for")
    func disasterRecovery() throws {
        let endpoint = try Endpoint(parsing: "xx-test-acdr-ut-1-intranet.log.aliyuncs.com")
        #expect(
            try SigningMethod(.v1, region: nil, endpoints: [endpoint])
                == .v4(region: "xx-test-acdr-ut-1")
        )
    }

    @Test("Several endpoints are of one region, which those that show it tell for the others")
    func severalEndpoints() throws {
        let endpoints = try [
            "cn-hangzhou-intranet.log.aliyuncs.com", "cn-hangzhou.log.aliyuncs.com",
            "log-global.aliyuncs.com", "https://logs.example.com",
        ].map { text in try Endpoint(parsing: text) }
        #expect(
            try SigningMethod(.v4, region: nil, endpoints: endpoints) == .v4(region: "cn-hangzhou")
        )
        let silent = Array(endpoints.dropFirst(2))
        let error = #expect(throws: EndpointError.self) {
            try SigningMethod(.v4, region: nil, endpoints: silent)
        }
        #expect(error?.description.contains("log-global.aliyuncs.com', 'https://logs") == true)
        #expect(
            try SigningMethod(.v4, region: "cn-hangzhou", endpoints: silent)
                == .v4(region: "cn-hangzhou")
        )
    }

    @Test(
        "Endpoints of two regions cannot lead to one project",
        arguments: SignatureVersion.allCases
    )
    func twoRegions(version: SignatureVersion) throws {
        let endpoints = try ["cn-hangzhou", "cn-shanghai"].map { region in
            try Endpoint(parsing: "\(region).log.aliyuncs.com")
        }
        let error = #expect(throws: EndpointError.self) {
            try SigningMethod(version, region: nil, endpoints: endpoints)
        }
        #expect(error?.description.contains("cn-hangzhou, cn-shanghai") == true)
        #expect(throws: Never.self) {
            try SigningMethod(version, region: "cn-hangzhou", endpoints: endpoints)
        }
    }
}

@Suite struct NamePatternTests {
    @Test("Names that SLS takes", arguments: ["app", "my-project-1", "0a0"])
    func fine(name: String) {
        #expect(NamePattern.project.problem(with: name) == nil)
        #expect(NamePattern.logstore.problem(with: name) == nil)
    }

    @Test(
        "Names that SLS refuses",
        arguments: [
            "", "-", "-app", "app-", "App", "a/b", "a b", "a\n", "ärger", "..",
            String(repeating: "a", count: 64),
        ]
    )
    func refused(name: String) {
        #expect(NamePattern.project.problem(with: name) != nil)
        #expect(NamePattern.logstore.problem(with: name) != nil)
    }

    @Test("Logstores may be shorter and may have underscores")
    func logstore() {
        #expect(NamePattern.logstore.problem(with: "ab") == nil)
        #expect(NamePattern.project.problem(with: "ab") != nil)
        #expect(NamePattern.logstore.problem(with: "app_log") == nil)
        #expect(
            NamePattern.project.problem(with: "app_log")
                == "the project name 'app_log' is not valid: use 3 to 63 lower-case letters, "
                + "digits and '-', beginning and ending with a letter or digit"
        )
    }
}
