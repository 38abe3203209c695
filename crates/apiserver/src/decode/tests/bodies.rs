//! Refusals, word for word as kube-apiserver 1.36.3 gave them to a create with `fieldValidation=Strict`.

use super::*;

const SERVICE: Expected = Expected { api_version: "v1", kind: "Service" };
const LEASE: Expected = Expected { api_version: "coordination.k8s.io/v1", kind: "Lease" };
const ROLE: Expected = Expected { api_version: "rbac.authorization.k8s.io/v1", kind: "Role" };
const EVENT: Expected = Expected { api_version: "v1", kind: "Event" };

#[test]
fn bodies_are_refused_in_the_words_of_the_real_server() {
    for (expected, media, body, message) in refused() {
        let judged = decoded(body.as_bytes(), media, expected)
            .and_then(|decoded| decoded.judged(FieldValidation::Strict, expected));
        let refusal = judged.expect_err(body);
        assert_eq!((refusal.code, refusal.reason), (400, "BadRequest"), "{body}");
        assert_eq!(refusal.message, message, "{body}");
    }
}

#[rustfmt::skip]
fn refused() -> Vec<(Expected<'static>, Media, &'static str, &'static str)> {
    vec![
        (CONFIG_MAP, Media::Json, "", "the object provided is unrecognized (must be of type ConfigMap): couldn't get version/kind; json parse error: unexpected end of JSON input (<empty>)"),
        (CONFIG_MAP, Media::Json, "{", "the object provided is unrecognized (must be of type ConfigMap): couldn't get version/kind; json parse error: unexpected end of JSON input ({)"),
        (CONFIG_MAP, Media::Json, "[]", r#"the object provided is unrecognized (must be of type ConfigMap): couldn't get version/kind; json parse error: json: cannot unmarshal array into Go value of type struct { APIVersion string "json:\"apiVersion,omitempty\""; Kind string "json:\"kind,omitempty\"" } (5b5d)"#),
        (CONFIG_MAP, Media::Json, r#""a""#, r#"the object provided is unrecognized (must be of type ConfigMap): couldn't get version/kind; json parse error: json: cannot unmarshal string into Go value of type struct { APIVersion string "json:\"apiVersion,omitempty\""; Kind string "json:\"kind,omitempty\"" } (226122)"#),
        (CONFIG_MAP, Media::Json, "5", r#"the object provided is unrecognized (must be of type ConfigMap): couldn't get version/kind; json parse error: json: cannot unmarshal number into Go value of type struct { APIVersion string "json:\"apiVersion,omitempty\""; Kind string "json:\"kind,omitempty\"" } (35)"#),
        (CONFIG_MAP, Media::Json, "true", r#"the object provided is unrecognized (must be of type ConfigMap): couldn't get version/kind; json parse error: json: cannot unmarshal bool into Go value of type struct { APIVersion string "json:\"apiVersion,omitempty\""; Kind string "json:\"kind,omitempty\"" } (74727565)"#),
        (CONFIG_MAP, Media::Json, r#"{"kind":5}"#, r#"the object provided is unrecognized (must be of type ConfigMap): couldn't get version/kind; json parse error: json: cannot unmarshal number into Go struct field .kind of type string ({"kind":5})"#),
        (CONFIG_MAP, Media::Json, r#"{"apiVersion":[]}"#, r#"the object provided is unrecognized (must be of type ConfigMap): couldn't get version/kind; json parse error: json: cannot unmarshal array into Go struct field .apiVersion of type string ({"apiVersion":[]})"#),
        (CONFIG_MAP, Media::Json, r#"{"apiVersion":"a/b/c"}"#, r#"the object provided is unrecognized (must be of type ConfigMap): unexpected GroupVersion string: a/b/c ({"apiVersion":"a/b/c"})"#),
        (CONFIG_MAP, Media::Json, r#"{"kind":"Pod"}"#, r#"Pod in version "v1" cannot be handled as a ConfigMap: converting (v1.Pod) to (core.ConfigMap): unknown conversion"#),
        (CONFIG_MAP, Media::Json, r#"{"kind":"Foo","apiVersion":"v1"}"#, r#"Foo in version "v1" cannot be handled as a ConfigMap: no kind "Foo" is registered for version "v1" in scheme "pkg/runtime/scheme.go:111""#),
        (CONFIG_MAP, Media::Json, r#"{"apiVersion":"v2"}"#, r#"ConfigMap in version "v2" cannot be handled as a ConfigMap: no kind "ConfigMap" is registered for version "v2" in scheme "pkg/runtime/scheme.go:111""#),
        (CONFIG_MAP, Media::Json, r#"{"data":5}"#, r#"ConfigMap in version "v1" cannot be handled as a ConfigMap: json: cannot unmarshal number into Go struct field ConfigMap.data of type map[string]string"#),
        (CONFIG_MAP, Media::Json, r#"{"data":{"a":5}}"#, r#"ConfigMap in version "v1" cannot be handled as a ConfigMap: json: cannot unmarshal number into Go struct field ConfigMap.data of type string"#),
        (CONFIG_MAP, Media::Json, r#"{"data":{"a":{}}}"#, r#"ConfigMap in version "v1" cannot be handled as a ConfigMap: json: cannot unmarshal object into Go struct field ConfigMap.data of type string"#),
        (CONFIG_MAP, Media::Json, r#"{"metadata":{"creationTimestamp":"x"}}"#, r#"ConfigMap in version "v1" cannot be handled as a ConfigMap: parsing time "x" as "2006-01-02T15:04:05Z07:00": cannot parse "x" as "2006""#),
        (CONFIG_MAP, Media::Json, r#"{"metadata":{"creationTimestamp":5}}"#, r#"ConfigMap in version "v1" cannot be handled as a ConfigMap: json: cannot unmarshal number into Go struct field ObjectMeta.metadata.creationTimestamp of type string"#),
        (CONFIG_MAP, Media::Json, r#"{"metadata":{"labels":[]}}"#, r#"ConfigMap in version "v1" cannot be handled as a ConfigMap: json: cannot unmarshal array into Go struct field ObjectMeta.metadata.labels of type map[string]string"#),
        (CONFIG_MAP, Media::Json, r#"{"metadata":{"name":"x"}} x"#, r#"the object provided is unrecognized (must be of type ConfigMap): couldn't get version/kind; json parse error: invalid character 'x' after top-level value ({"metadata":{"name":"x"}} x)"#),
        (CONFIG_MAP, Media::Json, r#"{"a":tru}"#, r#"the object provided is unrecognized (must be of type ConfigMap): couldn't get version/kind; json parse error: invalid character '}' in literal true (expecting 'e') ({"a":tru})"#),
        (CONFIG_MAP, Media::Json, r#"{"immutable":"yes"}"#, r#"ConfigMap in version "v1" cannot be handled as a ConfigMap: json: cannot unmarshal string into Go struct field ConfigMap.immutable of type bool"#),
        (CONFIG_MAP, Media::Json, r#"{"metadata":"x"}"#, r#"ConfigMap in version "v1" cannot be handled as a ConfigMap: json: cannot unmarshal string into Go struct field ConfigMap.metadata of type v1.ObjectMeta"#),
        (CONFIG_MAP, Media::Json, r#"{"metadata":{"name":"a-name-that-is-rather-long""#, r#"the object provided is unrecognized (must be of type ConfigMap): couldn't get version/kind; json parse error: unexpected end of JSON input ({"metadata":{"name":"a-name-th ...)"#),
        (CONFIG_MAP, Media::Json, r#"{"dta":{}}"#, r#"ConfigMap in version "v1" cannot be handled as a ConfigMap: strict decoding error: unknown field "dta""#),
        (CONFIG_MAP, Media::Json, r#"{"metadata":{"zz":{"a":1}}}"#, r#"ConfigMap in version "v1" cannot be handled as a ConfigMap: strict decoding error: unknown field "metadata.zz""#),
        (CONFIG_MAP, Media::Json, r#"{"data":{"x":"1","x":"2"}}"#, r#"ConfigMap in version "v1" cannot be handled as a ConfigMap: strict decoding error: duplicate field "data.x""#),
        (CONFIG_MAP, Media::Json, r#"{"metadata":{"ownerReferences":[{"x":1}]}}"#, r#"ConfigMap in version "v1" cannot be handled as a ConfigMap: strict decoding error: unknown field "metadata.ownerReferences[0].x""#),
        (POD, Media::Json, r#"{"spec":{"containers":"x"}}"#, r#"Pod in version "v1" cannot be handled as a Pod: json: cannot unmarshal string into Go struct field PodSpec.spec.containers of type []v1.Container"#),
        (POD, Media::Json, r#"{"spec":{"containers":["x"]}}"#, r#"Pod in version "v1" cannot be handled as a Pod: json: cannot unmarshal string into Go struct field PodSpec.spec.containers of type v1.Container"#),
        (POD, Media::Json, r#"{"spec":{"containers":[{"name":5}]}}"#, r#"Pod in version "v1" cannot be handled as a Pod: json: cannot unmarshal number into Go struct field Container.spec.containers.name of type string"#),
        (POD, Media::Json, r#"{"spec":{"volumes":[{"hostPath":5}]}}"#, r#"Pod in version "v1" cannot be handled as a Pod: json: cannot unmarshal number into Go struct field Volume.spec.volumes.VolumeSource.hostPath of type v1.HostPathVolumeSource"#),
        (POD, Media::Json, r#"{"spec":{"volumes":[{"hostPath":{"path":5}}]}}"#, r#"Pod in version "v1" cannot be handled as a Pod: json: cannot unmarshal number into Go struct field HostPathVolumeSource.spec.volumes.VolumeSource.hostPath.path of type string"#),
        (POD, Media::Json, r#"{"spec":{"containers":[{"resources":{"limits":{"cpu":"x"}}}]}}"#, r#"Pod in version "v1" cannot be handled as a Pod: quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"#),
        (POD, Media::Json, r#"{"spec":{"containers":[{"resources":{"limits":{"cpu":"1K"}}}]}}"#, r#"Pod in version "v1" cannot be handled as a Pod: unable to parse quantity's suffix"#),
        (POD, Media::Json, r#"{"spec":{"containers":[{"resources":{"limits":[]}}]}}"#, r#"Pod in version "v1" cannot be handled as a Pod: json: cannot unmarshal array into Go struct field ResourceRequirements.spec.containers.resources.limits of type v1.ResourceList"#),
        (POD, Media::Json, r#"{"spec":{"terminationGracePeriodSeconds":"5"}}"#, r#"Pod in version "v1" cannot be handled as a Pod: json: cannot unmarshal string into Go struct field PodSpec.spec.terminationGracePeriodSeconds of type int64"#),
        (POD, Media::Json, r#"{"spec":{"terminationGracePeriodSeconds":1.5}}"#, r#"Pod in version "v1" cannot be handled as a Pod: json: cannot unmarshal number 1.5 into Go struct field PodSpec.spec.terminationGracePeriodSeconds of type int64"#),
        (POD, Media::Json, r#"{"spec":{"priority":3000000000}}"#, r#"Pod in version "v1" cannot be handled as a Pod: json: cannot unmarshal number 3000000000 into Go struct field PodSpec.spec.priority of type int32"#),
        (POD, Media::Json, r#"{"spec":{"dnsPolicy":5}}"#, r#"Pod in version "v1" cannot be handled as a Pod: json: cannot unmarshal number into Go struct field PodSpec.spec.dnsPolicy of type v1.DNSPolicy"#),
        (POD, Media::Json, r#"{"spec":{"hostNetwork":5}}"#, r#"Pod in version "v1" cannot be handled as a Pod: json: cannot unmarshal number into Go struct field PodSpec.spec.hostNetwork of type bool"#),
        (POD, Media::Json, r#"{"spec":{"containers":[{"livenessProbe":{"httpGet":{"port":[]}}}]}}"#, r#"Pod in version "v1" cannot be handled as a Pod: json: cannot unmarshal array into Go struct field HTTPGetAction.spec.containers.livenessProbe.ProbeHandler.httpGet.port of type int32"#),
        (POD, Media::Json, r#"{"spec":{"containers":[{"livenessProbe":{"httpGet":5}}]}}"#, r#"Pod in version "v1" cannot be handled as a Pod: json: cannot unmarshal number into Go struct field Probe.spec.containers.livenessProbe.ProbeHandler.httpGet of type v1.HTTPGetAction"#),
        (POD, Media::Json, r#"{"spec":{"containers":[{"env":[{"name":"a","valueFrom":{"x":1}}]}]}}"#, r#"Pod in version "v1" cannot be handled as a Pod: strict decoding error: unknown field "spec.containers[0].env[0].valueFrom.x""#),
        (POD, Media::Json, r#"{"metadata":{"uid":5}}"#, r#"Pod in version "v1" cannot be handled as a Pod: json: cannot unmarshal number into Go struct field ObjectMeta.metadata.uid of type types.UID"#),
        (POD, Media::Json, r#"{"metadata":{"managedFields":[{"time":5}]}}"#, r#"Pod in version "v1" cannot be handled as a Pod: json: cannot unmarshal number into Go struct field ManagedFieldsEntry.metadata.managedFields.time of type string"#),
        (POD, Media::Json, r#"{"status":[]}"#, r#"Pod in version "v1" cannot be handled as a Pod: json: cannot unmarshal array into Go struct field Pod.status of type v1.PodStatus"#),
        (POD, Media::Json, r#"{"spec":{"Containers":[]}}"#, r#"Pod in version "v1" cannot be handled as a Pod: strict decoding error: unknown field "spec.Containers""#),
        (SECRET, Media::Json, r#"{"data":{"a":"x"}}"#, r#"Secret in version "v1" cannot be handled as a Secret: illegal base64 data at input byte 0"#),
        (SECRET, Media::Json, r#"{"data":{"a":"xxx%"}}"#, r#"Secret in version "v1" cannot be handled as a Secret: illegal base64 data at input byte 3"#),
        (SECRET, Media::Json, r#"{"data":{"a":"YQ"}}"#, r#"Secret in version "v1" cannot be handled as a Secret: illegal base64 data at input byte 0"#),
        (SECRET, Media::Json, r#"{"data":{"a":"YWJjZA=A"}}"#, r#"Secret in version "v1" cannot be handled as a Secret: illegal base64 data at input byte 6"#),
        (SECRET, Media::Json, r#"{"data":{"a":"YWJjZA==YQ=="}}"#, r#"Secret in version "v1" cannot be handled as a Secret: illegal base64 data at input byte 8"#),
        (SECRET, Media::Json, r#"{"data":{"a":[300]}}"#, r#"Secret in version "v1" cannot be handled as a Secret: json: cannot unmarshal number 300 into Go struct field Secret.data of type uint8"#),
        (SECRET, Media::Json, r#"{"data":{"a":5}}"#, r#"Secret in version "v1" cannot be handled as a Secret: json: cannot unmarshal number into Go struct field Secret.data of type []uint8"#),
        (SERVICE, Media::Json, r#"{"spec":{"ports":[{"port":80,"targetPort":true}]}}"#, r#"Service in version "v1" cannot be handled as a Service: json: cannot unmarshal bool into Go struct field ServicePort.spec.ports.targetPort of type int32"#),
        (SERVICE, Media::Json, r#"{"spec":{"ports":[{"port":80,"targetPort":1.5}]}}"#, r#"Service in version "v1" cannot be handled as a Service: json: cannot unmarshal number 1.5 into Go struct field ServicePort.spec.ports.targetPort of type int32"#),
        (LEASE, Media::Json, r#"{"spec":{"acquireTime":"2024-01-01T00:00:00Z"}}"#, r#"Lease in version "v1" cannot be handled as a Lease: parsing time "2024-01-01T00:00:00Z" as "2006-01-02T15:04:05.000000Z07:00": cannot parse "Z" as ".000000""#),
        (ROLE, Media::Json, r#"{"apiVersion":"v1","kind":"Pod"}"#, r#"Pod in version "v1" cannot be handled as a Role: converting (v1.Pod) to (rbac.Role): unknown conversion"#),
        (EVENT, Media::Json, r#"{"apiVersion":"events.k8s.io/v1","kind":"Event"}"#, "the API version in the data (events.k8s.io/v1) does not match the expected API version (v1)"),
        (CONFIG_MAP, Media::Yaml, "a: b", r#"ConfigMap in version "v1" cannot be handled as a ConfigMap: strict decoding error: unknown field "a""#),
        (CONFIG_MAP, Media::Yaml, "metadata: {name: y}", r#"ConfigMap in version "v1" cannot be handled as a ConfigMap: json: cannot unmarshal bool into Go struct field ObjectMeta.metadata.name of type string"#),
        (CONFIG_MAP, Media::Yaml, "data: {a: yes}", r#"ConfigMap in version "v1" cannot be handled as a ConfigMap: json: cannot unmarshal bool into Go struct field ConfigMap.data of type string"#),
        (CONFIG_MAP, Media::Yaml, "- a", r#"the object provided is unrecognized (must be of type ConfigMap): couldn't get version/kind; json parse error: json: cannot unmarshal array into Go value of type struct { APIVersion string "json:\"apiVersion,omitempty\""; Kind string "json:\"kind,omitempty\"" } (2d2061)"#),
        (CONFIG_MAP, Media::Yaml, "data: {a: 012}", r#"ConfigMap in version "v1" cannot be handled as a ConfigMap: json: cannot unmarshal number into Go struct field ConfigMap.data of type string"#),
        (CONFIG_MAP, Media::Yaml, "metadata: {name: x, name: z}", "ConfigMap in version \"v1\" cannot be handled as a ConfigMap: strict decoding error: yaml: unmarshal errors:\n  line 1: key \"name\" already set in map"),
        (CONFIG_MAP, Media::Protobuf, "{}", "the object provided is unrecognized (must be of type ConfigMap): provided data does not appear to be a protobuf message, expected prefix [107 56 115 0] ({})"),
        (CONFIG_MAP, Media::Protobuf, "", "the object provided is unrecognized (must be of type ConfigMap): empty data (<empty>)"),
        (CONFIG_MAP, Media::Protobuf, "k8s\0", "the object provided is unrecognized (must be of type ConfigMap): empty body (6b387300)"),
    ]
}

/// Recorded from a delete of a pod.
#[test]
fn options_of_a_delete_are_refused_in_the_words_of_the_real_server() {
    let cases = [
        (Media::Json, "{", "couldn't get version/kind; json parse error: unexpected end of JSON input"),
        (
            Media::Json,
            r#"{"kind":"Pod","apiVersion":"v1"}"#,
            r#"no kind "Pod" is registered for version "v1" in scheme "pkg/runtime/scheme.go:111""#,
        ),
        (
            Media::Json,
            r#"{"preconditions":[]}"#,
            "json: cannot unmarshal array into Go struct field DeleteOptions.preconditions of type v1.Preconditions",
        ),
        (
            Media::Yaml,
            "gracePeriodSeconds: x",
            "json: cannot unmarshal string into Go struct field DeleteOptions.gracePeriodSeconds of type int64",
        ),
        (Media::Json, r#"{"apiVersion":"a/b/c"}"#, "unexpected GroupVersion string: a/b/c"),
        (
            Media::Protobuf,
            "{}",
            "provided data does not appear to be a protobuf message, expected prefix [107 56 115 0]",
        ),
    ];
    for (media, body, message) in cases {
        let refusal = delete_options(body.as_bytes(), media, Limits::default()).unwrap_err();
        assert_eq!((refusal.code, refusal.message.as_str()), (400, message), "{body}");
    }
}

#[test]
fn options_of_a_delete_may_be_of_any_version_and_hold_what_nobody_knows() {
    let options = |body: &[u8], media| delete_options(body, media, Limits::default()).unwrap();
    let body = br#"{"kind":"DeleteOptions","apiVersion":"policy/v1","foo":1,"gracePeriodSeconds":0}"#;
    assert_eq!(
        options(body, Media::Json),
        json!({"kind": "DeleteOptions", "apiVersion": "policy/v1", "gracePeriodSeconds": 0})
    );
    assert_eq!(options(b"null", Media::Json), json!({"kind": "DeleteOptions", "apiVersion": "v1"}));
    assert_eq!(options(b"k8s\0\x12\x02\x08\x05", Media::Protobuf)["gracePeriodSeconds"], json!(5));
}

/// Recorded from a create of an object of a definition, which must say itself what it is.
#[test]
fn objects_of_definitions_are_refused_in_the_words_of_the_real_server() {
    let cases = [
        (
            r#"{"metadata":{"name":"x"}}"#,
            r#"the object provided is unrecognized (must be of type Widget): Object 'Kind' is missing in '{"metadata":{"name":"x"}}' ({"metadata":{"name":"x"}})"#,
        ),
        (
            "null",
            "the object provided is unrecognized (must be of type Widget): Object 'Kind' is missing in 'null' (6e756c6c)",
        ),
        (
            r#"{"kind":"Widget"}"#,
            "the API version in the data () does not match the expected API version (example.com/v1)",
        ),
        (
            r#"{"apiVersion":"v1","kind":"Pod"}"#,
            "the API version in the data (v1) does not match the expected API version (example.com/v1)",
        ),
        (
            r#"{"apiVersion":"example.com/v1","kind":"Widget","metadata":{"name":5}}"#,
            "Widget in version \"v1\" cannot be handled as a Widget: json: cannot unmarshal number into Go struct field ObjectMeta.name of type string",
        ),
        (
            r#"{"apiVersion":"example.com/v1","kind":"Widget","metadata":5}"#,
            "Widget in version \"v1\" cannot be handled as a Widget: json: cannot unmarshal number into Go value of type v1.ObjectMeta",
        ),
    ];
    for (body, message) in cases {
        let refusal = decoded(body.as_bytes(), Media::Json, WIDGET).unwrap_err();
        assert_eq!((refusal.code, refusal.message.as_str()), (400, message), "{body}");
    }
}
