@testable import Logs

/// One request as the reference implementation of protobuf writes it, in both encodings.
enum RealRequest {
    static let protobuf = bytes(
        hex: """
            0ade020a5f0a160a0c736572766963652e6e616d6512060a0473686f700a140a09686f73742e6e61
            6d6512070a057765622d310a120a0b70726f636573732e706964120318e7240a1b0a0b636c6f7564
            2e7a6f6e6573120c2a0a0a030a01610a030a016212fa010a1f0a0973686f702e636172741205312e
            322e301a0b0a0573686f72741202100112c10109151dd7c6de811a1810091a04494e464f2a120a10
            70757420226170706c652220e4b8960a32120a05636f756e74120918818080808080801032120a05
            7072696365120921000000000000f83f320b0a0372617712043a0200ff322f0a0475736572122732
            250a110a026964120b18ffffffffffffffffff010a100a047461677312082a060a000a0210003802
            45010000004a105b8efff798038103d269b633813fc60c5208eee19b7ec3c1b17459001267cbde81
            1a186208636172742e616464121310112a0f320d0a0b0a04636f6465120318f403
            """
    )

    static let json = #"""
        {"resourceLogs":[{"resource":{"attributes":[{"key":"service.name",
        "value":{"stringValue":"shop"}},{"key":"host.name","value":{"stringValue":"web-1"}},
        {"key":"process.pid","value":{"intValue":"4711"}},{"key":"cloud.zones",
        "value":{"arrayValue":{"values":[{"stringValue":"a"},{"stringValue":"b"}]}}}]},
        "scopeLogs":[{"scope":{"name":"shop.cart","version":"1.2.0",
        "attributes":[{"key":"short","value":{"boolValue":true}}]},
        "logRecords":[{"timeUnixNano":"1736843400123456789","severityNumber":9,
        "severityText":"INFO","body":{"stringValue":"put \"apple\" 世\n"},
        "attributes":[{"key":"count","value":{"intValue":"9007199254740993"}},{"key":"price",
        "value":{"doubleValue":1.5}},{"key":"raw","value":{"bytesValue":"AP8="}},
        {"key":"user","value":{"kvlistValue":{"values":[{"key":"id",
        "value":{"intValue":"-1"}},{"key":"tags","value":{"arrayValue":{"values":[{},
        {"boolValue":false}]}}}]}}}],"droppedAttributesCount":2,"flags":1,
        "traceId":"5B8EFFF798038103D269B633813FC60C","spanId":"EEE19B7EC3C1B174",
        "observedTimeUnixNano":"1736843400200000000","eventName":"cart.add"},
        {"severityNumber":17,"body":{"kvlistValue":{"values":[{"key":"code",
        "value":{"intValue":"500"}}]}}}]}]}]}
        """#
        .split(separator: "\n").joined()

    private static let shared = [
        ["host", "web-1"], ["service", "shop"],
        ["resource", #"{"process.pid":4711,"cloud.zones":["a","b"]}"#],
        ["otlp.name", "shop.cart"], ["otlp.version", "1.2.0"],
        ["otlp.attribute", #"{"short":true}"#],
    ]

    /// What it means.
    static let logs = [
        Read(
            shared + [
                ["timeUnixNano", "1736843400123456789"],
                ["observedTimeUnixNano", "1736843400200000000"], ["severityNumber", "9"],
                ["severityText", "INFO"], ["eventName", "cart.add"],
                [
                    "attribute",
                    #"{"count":9007199254740993,"price":1.5,"raw":"AP8=","#
                        + #""user":{"id":-1,"tags":[null,false]}}"#,
                ],
                ["droppedAttributesCount", "2"], ["content", "put \"apple\" 世\n"], ["flags", "1"],
                ["traceID", "5b8efff798038103d269b633813fc60c"], ["spanID", "eee19b7ec3c1b174"],
            ],
            nanoseconds: 123_456_789
        ),
        Read(
            shared + [
                ["timeUnixNano", "0"], ["severityNumber", "17"], ["severityText", ""],
                ["attribute", "{}"], ["content", #"{"code":500}"#], ["flags", "0"],
                ["traceID", ""], ["spanID", ""],
            ]
        ),
    ]
}
